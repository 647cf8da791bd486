// Forms of launches found in public repositories that were once misread without a word: each is read right, or refused.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(StrangersLaunch, MegatronDeepSpeedIsKnownByItsOwnArguments) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  for (const char* own : {" --num-key-value-heads 4", " --zero-stage 1", " --ds-sequence-parallel-size 2"})
    EXPECT_THAT(predict("--megatron", run + own + "\n", "--print-scenario").out, HasSubstr("megatron-deepspeed"))
        << own;
  const std::string heads = run + " --num-key-value-heads 4 --not-an-argument 1\n";
  EXPECT_THAT(predict("--megatron", heads, "--lenient --print-scenario").out, HasSubstr("\"kv_heads\": 4"));
}

TEST_F(StrangersLaunch, ForksOfMegatronAreReadOrRefused) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  struct ForkRow {
    const char *arguments, *said, *refused;
  };
  const std::string experts =
      " --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 1024 --swiglu --disable-bias-linear "
      "--normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights";
  const ForkRow rows[] = {// Pai-Megatron-Patch
      {" --intermediate-size 5504 --swiglu", "\"ffn_hidden\": 5504", ""},
      {" --train-mode pretrain --dataset LLama-Pretrain-Idxmap --epochs 1", "", ""},
      {" --transformer-type huggingface", "", "layers of Hugging Face"}, {" --source-seq-len 8", "", "both ways"},
      // BigCode
      {" --attention-head-type multiquery --structured-logs --fim-rate 0.5 --tokenizer-file tokenizer.json",
          "\"kv_heads\": 1", ""},
      // swiss-ai
      {" --xielu", "", "activations with learned numbers"}, {" --post-layer-norm", "", "norms behind attention"},
      // MindSpeed
      // OpenGPT-X, whose arguments no public text tells; LLM360's K2
      {" --t5-swiglu", "", "--t5-swiglu"}, {" --swiglu --data-base-path data --n-chunks 360", "\"swiglu\"", ""},
      {" --glu-activation t5_geglu", "\"geglu\"", ""}, {" --glu-activation odd", "", "activation 'odd' is not known"},
      {" --geglu", "geglu", ""}, {" --noop-layers 22,23", "", "layers that do nothing"},
      {" --context-parallel-size 2 --context-parallel-algo ulysses_cp_algo", "ulysses", ""},
      {" --context-parallel-size 2 --context-parallel-algo hybrid_cp_algo", "", "of this kind is not read"},
      {" --tensor-model-parallel-size 1 --num-layer-list 14,10 --pipeline-model-parallel-size 2", "14,10", ""},
      {" --stage dpo", "", "trained by preferences"}, {" --stage sft --is-instruction-dataset", "", ""},
      {" --swap-attention", "", "host memory"}, {" --lora-r 8 --lora-alpha 16", "", "has no default for them"},
      {" --lora-r 8 --lora-target-modules linear_qkv linear_fc1", "\"lora_on\": \"q,k,v,gate,up\"", ""},
      {" --lora-r 8 --lora-target-modules linear_qkw", "", "'linear_qkw' is no module that is known"},
      {" --lora-r 8 --lora-target-modules *.layers.0.*.linear_qkv", "", "picks modules by a pattern"}};
  for (const ForkRow& row : rows) {
    const Ran ran = predict("--megatron", run + row.arguments + "\n", "--print-scenario");
    EXPECT_EQ(ran.code, *row.refused == '\0' ? 0 : 2) << row.arguments << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(row.said)) << row.arguments;
    EXPECT_THAT(ran.err, HasSubstr(row.refused)) << row.arguments;
  }
  const Ran shared = predict("--megatron",
      run + experts +
          " --first-k-dense-replace 4 --n-shared-experts 2 --moe-tp-extend-ep --expert-model-parallel-size 2 "
          "--tensor-model-parallel-size 2\n",
      "--print-scenario");
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("mesh etp:1 ep:4 edp:4"));
  EXPECT_THAT(shared.out, HasSubstr("\"shared_ffn_hidden\": 2048"));
  EXPECT_THAT(shared.out, HasSubstr("\"dense_layers\": 4"));
  const auto with = [&](const std::string& more) {
    return predict("--megatron", run + experts + more + "\n", "--print-scenario");
  };
  // 2 x 1408
  EXPECT_THAT(with(" --moe-ffn-hidden-size 1_408 --n-shared-experts 2").out, HasSubstr("\"shared_ffn_hidden\": 2816"));
  EXPECT_THAT(with(" --n-shared-experts two").err, HasSubstr("'two' is no whole number"));
  EXPECT_THAT(with(" --n-shared-experts $SHARED").err,
      AllOf(HasSubstr("nothing sets $SHARED"), HasSubstr("--define SHARED=VALUE")));
  const Ran deep = with(" --first-k-dense-replace 30");
  EXPECT_THAT(deep.err, AllOf(HasSubstr("30 dense layers of 24"), HasSubstr("at most 24")));
}

TEST_F(StrangersLaunch, ConfigurationsOfOthersAreRefusedByTheirName) {
  const std::pair<const char*, const char*> rows[] = {
      {"train_input:\n  batch_size: 1024\nmodel:\n  hidden_size: 4096\n  num_hidden_layers: 32\nrunconfig:\n  "
       "max_steps: 10\n",
          "a configuration of Cerebras' Model Zoo"},
      {"trainer:\n  init:\n    backend:\n      backend_type: CSX\n    model:\n      hidden_size: 4096\n",
          "a configuration of Cerebras' Model Zoo"},
      {"actor_rollout_ref:\n  actor:\n    megatron:\n      tensor_model_parallel_size: 2\n", "a configuration of verl"},
      {"data:\n  cache_dir: c\nmodel:\n  type: llama\n  hidden_dim: 4096\ntrainer:\n  train_batch_size: 1024\n",
          "a configuration of Levanter"},
      {"steps: 100\ngrad_acc_steps: 1\ndistributed:\n  fsdp_type: full_shard\nmodel:\n  dim: 4096\n",
          "a configuration of Lingua"}};
  for (const auto& [text, said] : rows) {
    const Ran ran = predict("--nemo", text);
    EXPECT_EQ(ran.code, 2) << said << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
  const Ran command = predict("--megatron", "python3 -m verl.trainer.main_ppo data.train_batch_size=1024 "
                                            "actor_rollout_ref.model.path=Qwen/Qwen2-7B trainer.nnodes=1\n");
  EXPECT_EQ(command.code, 2) << command.out;
  EXPECT_THAT(command.err, HasSubstr("a launch of verl"));
}

const std::string nemo = "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\nmodel:\n  num_layers: 24\n  "
                         "hidden_size: 2048\n  ffn_hidden_size: 8192\n  num_attention_heads: 16\n  encoder_seq_length: "
                         "2048\n  vocab_size: 32000\n  tensor_model_parallel_size: 4\n  micro_batch_size: 1\n  "
                         "global_batch_size: 128\n";

TEST_F(StrangersLaunch, OtherDataThanTheTrainingsSaysNothing) {
  const Ran ran =
      predict("--nemo", nemo + "  data:\n    validation_ds:\n      micro_batch_size: 4\n      global_batch_size: "
                               "32\ninference:\n  tensor_model_parallel_size: 1\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 4,"));
  EXPECT_THAT(ran.out, HasSubstr("micro-batch 1"));
}

TEST_F(StrangersLaunch, MisspelledSectionsAreRefused) {
  std::string modle = nemo;
  modle.replace(modle.find("model:"), 6, "modle:");
  const Ran ran = predict("--nemo", modle);
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("did you mean 'model'?"));
}

const std::string titan =
    "[training]\nlocal_batch_size = 1\nseq_len = 4096\n[parallelism]\ndata_parallel_shard_degree = "
    "8\n";

TEST_F(StrangersLaunch, TorchtitansSectionsStandAsTheyAre) {
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  EXPECT_EQ(predict("--torchtitan", model + titan).code, 0);
  const auto compiled = [&](const char* enable) {
    return predict(
        "--torchtitan", model + titan + fmt::format("[compile]\nenable = {}\ncomponents = [\"loss\"]\n", enable));
  };
  EXPECT_THAT(compiled("true").out, HasSubstr("the network runs operator by operator"));
  EXPECT_THAT(compiled("false").out, Not(HasSubstr("operator by operator"))) << "nothing is compiled anyway";
  const Ran nested = predict("--torchtitan", model + titan + "[foo.training]\nlocal_batch_size = 8\n");
  EXPECT_EQ(nested.code, 2) << nested.out;
  EXPECT_THAT(nested.err, HasSubstr("there is only training.local_batch_size"));
}

TEST_F(StrangersLaunch, SettingsOfAModuleOfTorchtitansAreNamedWithIt) {
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  const std::string module = "[job]\ncustom_config_module = \"mine.job_config\"\n";
  const Ran known = predict("--torchtitan", model + titan + module);
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_THAT(known.out, HasSubstr("not taken into account: job.custom_config_module=mine.job_config"));
  const Ran ran = predict("--torchtitan", model + titan + module + "[my_section]\nways = 4\n");
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("my_section.ways"));
  EXPECT_THAT(ran.err, HasSubstr("mine.job_config may add it"));
}

TEST_F(StrangersLaunch, AFlavorThatNobodyKnowsIsNotItsFamilysLargest) {
  for (const char* flavor : {"flavor = \"debugmodel\"\n", "flavor = \"99B\"\n", ""}) {
    const Ran ran = predict("--torchtitan", fmt::format("[model]\nname = \"deepseek_v3\"\n{}", flavor) + titan);
    EXPECT_EQ(ran.code, 2) << ran.out;
  }
}

TEST_F(StrangersLaunch, AnOptimizerThatIsNotAdamIsSaid) {
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + titan + "[optimizer]\nname = ";
  EXPECT_EQ(predict("--torchtitan", model + "\"AdamW\"\n").code, 0);
  EXPECT_THAT(predict("--torchtitan", model + "\"adam_mini\"\n").err, HasSubstr("optimizer 'adam_mini' is not known"));
}

TEST_F(StrangersLaunch, AWordForRecomputationThatNobodyKnowsIsRefused) {
  const Ran ran = predict("--torchtitan",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + titan + "[activation_checkpoint]\nmode = \"ful\"\n");
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("recomputation 'ful' is not known"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
