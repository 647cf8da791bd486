// Programs around the usual ones: each is read by its own words, or refused under its own name.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string tuned = " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 --bf16 true ";
const std::string two_nodes = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;

TEST_F(StrangersLaunch, WhatIsKeptInHostMemoryIsRefusedByOneRule) {
  write("ds.json", "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}},\n"
                   " \"bf16\": {\"enabled\": true}}\n");
  const std::string factory =
      "NPROC_PER_NODE=8 llamafactory-cli train --stage sft --finetuning_type full --packing true "
      "--cutoff_len 2048" +
      tuned + "--deepspeed ";
  const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full --packing true "
                            "--max_length 2048 --per_device_train_batch_size 1 --deepspeed ";
  const std::string trainer =
      "torchrun --nproc_per_node 8 run_clm.py --block_size 2048" + tuned + "--deepspeed ds.json";
  const std::pair<const char*, std::string> kept[] = {{"--megatron", two_nodes + " --optimizer-cpu-offload"},
      {"--llama-factory", factory + "ds.json"},
      {"--llama-factory", factory + "examples/deepspeed/ds_z2_offload_config.json"},
      {"--ms-swift", swift + "zero3_offload"}, {"--ms-swift", swift + "zero2_offload"}, {"--trainer", trainer}};
  for (const auto& [flag, launch] : kept) {
    const Ran refused = predict(flag, launch + "\n", "--gpus 16");
    EXPECT_EQ(refused.code, 2) << launch;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("what is kept in host memory is not forecast"), HasSubstr("--lenient")));
    const Ran lenient = predict(flag, launch + "\n", "--lenient --gpus 16");
    EXPECT_EQ(lenient.code, 0) << launch << lenient.err;
  }
  EXPECT_EQ(predict("--ms-swift", swift + "zero3\n").code, 0);
  EXPECT_EQ(predict("--ms-swift", swift + "default-zero3\n").code, 0);  // as older releases call it
}

TEST_F(StrangersLaunch, AnEngineAndATrainingOfOneScriptAreBothTold) {
  const std::string engine = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 &\n";
  const std::string both = write("both.sh", engine + two_nodes + "\n");
  const Ran told = run_line("explain --launch " + both);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("--tensor-parallel-size"), HasSubstr("The same script starts a training."),
                            HasSubstr("Megatron-LM launch in"), HasSubstr("--num-layers 24")));
  const json all = json::parse(run_line("explain --json --launch " + both).out, nullptr, false);
  EXPECT_TRUE(all.contains("engine") && all.contains("training"));
  const Ran alone = run_line("explain --launch " + write("engine.sh", engine));
  EXPECT_THAT(alone.out, Not(HasSubstr("starts a training")));
}

TEST_F(StrangersLaunch, ProgramsThatAreNotReadAreNamed) {
  const std::pair<std::string, const char*> launches[] = {
      {"python3 -m MaxText.train base.yml model_name=llama2-7b per_device_batch_size=4 max_target_length=2048",
          "MaxText"},
      {"python3 -m verl.trainer.main config=c.yaml worker.actor.model.model_path=Qwen/Qwen3-8B trainer.nnodes=1",
          "EasyR1"},
      {two_nodes + " --base-model llama --use-la-module --la-module gla", "Linear-MoE"}};
  for (const auto& [launch, name] : launches)
    EXPECT_THAT(predict("--launch", launch + "\n").err,
        HasSubstr(fmt::format("a launch of {}, which is recognised and not read", name)));
  const std::string oumi = write("oumi.yaml", "model:\n  model_name: meta-llama/Llama-3.1-8B\n"
                                              "training:\n  trainer_type: TRL_SFT\n  per_device_train_batch_size: 2\n");
  EXPECT_THAT(run_line("predict --launch " + oumi).err, HasSubstr("a configuration of oumi"));
  const std::string mca = "USE_MCA=1 NPROC_PER_NODE=8 llamafactory-cli train --stage sft --finetuning_type full "
                          "--cutoff_len 2048" +
                          tuned;
  EXPECT_THAT(predict("--launch", mca + "\n").err, HasSubstr("USE_MCA=1 trains on Megatron-LM"));
}

TEST_F(StrangersLaunch, MegatronLlamaHasWordsOfItsOwn) {
  const std::string run = two_nodes + " --swiglu --disable-bias-linear --use-rotary-position-embeddings "
                                      "--no-position-embedding --job-name a --reduce-bucket-size 2e8";
  const Ran own = predict("--megatron", run + " --RMSNorm --causal-lm --overlapped-distributed-optimizer\n");
  const Ran usual =
      predict("--megatron", run + " --normalization RMSNorm --untie-embeddings-and-output-weights "
                                  "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather\n");
  EXPECT_EQ(own.code, 0) << own.err;
  const auto head = [](const Ran& ran) { return ran.out.substr(0, ran.out.find("Where the time goes")); };
  EXPECT_EQ(head(own), head(usual));
  EXPECT_THAT(own.out, HasSubstr("zero 1"));
}

TEST_F(StrangersLaunch, MegatronSwiftTellsItsNetworkByAConvertedFolder) {
  const std::string run =
      "NPROC_PER_NODE=8 megatron sft --tensor_model_parallel_size 2 --max_length 4096 --packing true "
      "--micro_batch_size 1 --global_batch_size 16 ";
  const Ran named = predict("--launch", run + "--load out/Qwen2.5-7B-Instruct-mcore\n");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out, AllOf(HasSubstr("Qwen2.5 7B on 8"), HasSubstr("is taken for weights")));
  EXPECT_EQ(predict("--launch", run + "--load out/mine\n").code, 2);
  EXPECT_THAT(
      predict("--launch", run + "--model Qwen/Qwen3-8B --load out/Qwen2.5-7B-mcore\n").out, HasSubstr("Qwen3 8B on 8"));
  // settings inside a text are arguments like others
  const std::string extra = run + "--model Qwen/Qwen3-8B --megatron_extra_kwargs ";
  EXPECT_EQ(predict("--launch", extra + "'{\"lr_warmup_init\": 1e-6}'\n").code, 0);
  EXPECT_THAT(predict("--launch", extra + "'{\"global_batch_size\": 32}'\n").out, HasSubstr("8 x 4 sequences of 4096"));
  EXPECT_THAT(predict("--launch", extra + "'{\"wibble\": 1}'\n").err, HasSubstr("wibble"));
  EXPECT_THAT(predict("--launch", extra + "wibble=1\n").err, HasSubstr("no JSON object"));
}

TEST_F(StrangersLaunch, FoldersOfHuggingFacesCacheNameTheirNetwork) {
  const std::string run =
      "NPROC_PER_NODE=8 swift sft --train_type full --packing true --max_length 2048 --per_device_train_batch_size 1 "
      "--deepspeed zero3 --model /cache/hub/models--Qwen--Qwen3-8B/snapshots/";
  const Ran cached = predict("--launch", run + "0123abcd\n");
  EXPECT_EQ(cached.code, 0) << cached.err;
  EXPECT_THAT(cached.out, HasSubstr("Qwen3 8B on 8"));
}

TEST_F(StrangersLaunch, ACommandThatPredictsIsNoSecondTraining) {
  const std::string common = "torchrun --nproc_per_node 8 run_clm.py --block_size 2048 " + tuned;
  const Ran both = predict("--trainer",
      common + "--do_train true --gradient_accumulation_steps 4\n" + common +
          "--do_predict true --per_device_eval_batch_size 8\n",
      "--zero 2");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("4 x 8 sequences of 2048"));
  const Ran trained = predict("--trainer",
      common + "--do_train true --gradient_accumulation_steps 4\n" + common +
          "--do_train true --gradient_accumulation_steps 8\n",
      "--zero 2");
  EXPECT_THAT(trained.err, HasSubstr("2 launches that differ"));
}

TEST_F(StrangersLaunch, ArgumentsOfAScriptAndFilesThatAreMissing) {
  const std::string hands_on = two_nodes + " \"$@\"\n";
  const Ran given = predict("--megatron", hands_on, "--define 1=--tensor-model-parallel-size --define 2=4");
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("tp 4,"));
  EXPECT_THAT(predict("--megatron", two_nodes + "\n", "--define 71=x").err, HasSubstr("'71' does not occur"));
  const Ran unset = predict("--megatron", "source sizes/7b.sh\n" + two_nodes + " --tensor-model-parallel-size $TP\n");
  EXPECT_THAT(unset.err, AllOf(HasSubstr("--define TP=VALUE"), HasSubstr("--files-from FOLDER that has sizes/7b.sh")));
  const Ran missing = predict("--megatron", "source sizes/7b.sh\n" + two_nodes + "\n", "--json");
  EXPECT_THAT(missing.out + missing.err, HasSubstr("--files-from FOLDER that has it"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
