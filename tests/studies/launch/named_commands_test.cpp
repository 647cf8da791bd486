// Commands that are no files of Python, words of older releases, and what is said where a file is missing.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/given_launch.h"
#include "tests/studies/launch/meant_launch.h"
#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using meant_launches::meaning_of;
using meant_launches::read_in;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// litgpt/__main__.py and the functions that it calls: 512 sequences of a step, 4 in a pass, unless told.
TEST(NamedCommands, LitgptsCommandsSayWhatTheyTrain) {
  const std::string tail = " --train.max_seq_length 512 --devices 4\n";
  EXPECT_THAT(meaning_of("litgpt pretrain Llama-2-7b-hf" + tail, "run.sh"),
      AllOf(HasSubstr("litgpt llama2-7b "), HasSubstr("global_batch=512"), HasSubstr("micro_batch=4"),
          HasSubstr("recompute=none"), HasSubstr("sequence=512")));
  EXPECT_THAT(
      meaning_of("litgpt pretrain --model_name Llama-2-7b-hf" + tail, "run.sh"), HasSubstr("litgpt llama2-7b "));
  for (const char* lora : {"litgpt finetune meta-llama/Llama-2-7b-hf", "litgpt finetune_lora meta-llama/Llama-2-7b-hf",
           "python -m litgpt finetune lora --checkpoint_dir checkpoints/meta-llama/Llama-2-7b-hf",
           "litgpt finetune_lora --checkpoint_dir checkpoints/meta-llama/Llama-2-7b-hf"}) {
    const auto launch = read_in(lora + tail, "run.sh");
    ASSERT_TRUE(launch) << to_text(launch.error());
    LaunchHints hints;
    hints.lenient = true;
    const auto reading = read_meaning(*launch, hints);
    ASSERT_TRUE(reading) << lora << to_text(reading.error());
    EXPECT_EQ(given_launches::said(*reading, "lora"), "8") << lora;
    EXPECT_EQ(given_launches::said(*reading, "global_batch"), "16") << lora;
    EXPECT_EQ(given_launches::said(*reading, "recompute"), "full") << lora;
    EXPECT_EQ(reading->request.network->id, "llama2-7b") << lora;
  }
  const auto full = read_in("litgpt finetune_full meta-llama/Llama-2-7b-hf" + tail, "run.sh");
  ASSERT_TRUE(full) << to_text(full.error());
  EXPECT_EQ(full->find("lora_r"), nullptr);
  EXPECT_THAT(meaning_of("litgpt finetune_adapter meta-llama/Llama-2-7b-hf" + tail, "run.sh"),
      HasSubstr("trains prefixes and scales"));
  EXPECT_THAT(
      meaning_of("litgpt pretrain Llama-2-7b-hf --train.made_up 3" + tail, "run.sh"), HasSubstr("train.made_up"));
}

TEST_F(StrangersLaunch, AFileWithArgumentsThatIsMissingIsAskedFor) {
  for (const char* command : {"llamafactory-cli train conf/x.yaml", "axolotl train conf/x.yaml",
           "NPROC_PER_NODE=8 swift sft conf/x.yaml", "litgpt pretrain --config https://a.b/c/x.yaml",
           "trl sft --config conf/x.yaml", "torchrun --nproc_per_node 8 -m somebody.train --config conf/x.yaml"}) {
    const Ran ran = predict("--launch", std::string(command) + "\n", "--gpus 8");
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("x.yaml is not there"), HasSubstr("--files-from FOLDER"))) << command;
  }
  const std::string own = "trl sft --model_name_or_path meta-llama/Llama-3.1-8B --packing --loss_type nll ";
  EXPECT_EQ(predict("--launch", own + "\n", "--gpus 64 --zero 3").code, 0);
  const Ran lost = predict("--launch", own + "--config x.yaml\n", "--gpus 64 --zero 3");
  EXPECT_EQ(lost.code, 2) << "what the file says is not known";
  EXPECT_THAT(lost.err, HasSubstr("x.yaml is not there, and it has arguments of the launch"));
  EXPECT_EQ(predict("--launch", own + "--config x.yaml\n", "--gpus 64 --zero 3 --lenient").code, 0);
}

/// modelscope/ms-swift@v2.6.1: swift/llm/utils/argument.py.
TEST(NamedCommands, WordsOfSwiftsSecondReleaseAreRead) {
  const std::string run = "NPROC_PER_NODE=4 swift sft --model_type qwen2-7b --model_id_or_path Qwen/Qwen2.5-7B "
                          "--dataset a --batch_size 2 --packing true --deepspeed default-zero2 --train_dataset_sample "
                          "1000 --preprocess_num_proc 4 --self_cognition_sample 500 --eval_batch_size 1 ";
  EXPECT_THAT(meaning_of(run + "--sft_type full --dtype bf16\n", "run.sh"),
      AllOf(HasSubstr("ms-swift qwen2.5-7b "), HasSubstr("micro_batch=2"), HasSubstr("sequence=2048"),
          HasSubstr("zero=2"), HasSubstr("precision=bf16")));
  EXPECT_THAT(meaning_of(run + "--sft_type full --dtype fp16\n", "run.sh"), HasSubstr("precision=fp16"));
  EXPECT_THAT(meaning_of(run + "--sft_type full --dtype int3\n", "run.sh"), HasSubstr("'int3' is not known"));
  EXPECT_THAT(meaning_of(run + "--sft_type lora --lora_target_modules q_proj v_proj\n", "run.sh"),
      AllOf(HasSubstr("lora=8"), HasSubstr("lora_on=q,v")));
  EXPECT_THAT(meaning_of(run + "--sft_type lora --lora_target_modules ALL\n", "run.sh"), HasSubstr("lora_on=all"));
  for (const char* open : {"--sft_type lora\n", "--sft_type lora --lora_target_modules DEFAULT\n"})
    EXPECT_THAT(meaning_of(run + open, "run.sh"), HasSubstr("nothing says which projections have adapters")) << open;
  EXPECT_THAT(meaning_of(run + "--sft_type full --train_backend megatron\n", "run.sh"), HasSubstr("is not read"));
}

/// bigscience-workshop/Megatron-DeepSpeed: pretrain_prefix_lm.py, and finetune_t0.py with --prefixlm.
TEST(NamedCommands, AttentionThatIsOpenOverAPrefixIsRefused) {
  const auto said = [](const std::string& program, const std::string& more) {
    return meaning_of(
        "deepspeed --num_gpus 8 " + program + sizes + " --deepspeed --zero-stage 1 " + more + "\n", "run.sh");
  };
  EXPECT_THAT(said("pretrain_prefix_lm.py", ""), HasSubstr("open over a prefix"));
  EXPECT_THAT(said("finetune_t0_non_causal_decoder.py", ""), HasSubstr("open over a prefix"));
  EXPECT_THAT(said("finetune_t0.py", "--prefixlm"), HasSubstr("open over a prefix"));
  const std::string harmless = said("finetune_t0.py", "--norm-target-loss --reset-progress");
  EXPECT_THAT(harmless, Not(HasSubstr("open over a prefix")));
  EXPECT_EQ(harmless, said("finetune_t0.py", "")) << "neither changes a step";
}

/// What accelerate starts on DeepSpeed is a network of transformers, as under the Trainer.
TEST(NamedCommands, AccelerateOnDeepSpeedHasTheStackOfTransformers) {
  const auto stack = [](const std::string& more) {
    LaunchHints hints;
    hints.network = *choose_network("llama3-8b", "");
    const auto launch = read_in("compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
                                "  zero_stage: 3\nmixed_precision: bf16\nnum_processes: 8\n" +
                                more);
    if (!launch) return to_text(launch.error());
    const auto reading = read_meaning(*launch, hints);
    return reading ? reading->request.stack->id : to_text(reading.error());
  };
  EXPECT_EQ(stack("per_device_train_batch_size: 1\nmax_length: 2048\n"), "deepspeed-transformers");
  EXPECT_EQ(stack("per_device_train_batch_size: 1\nattn_implementation: eager\n"), "deepspeed-zero");
}

/// axolotl-ai-cloud/axolotl: deepspeed_configs; a file of weights in host memory leaves the optimizer where it is.
TEST(NamedCommands, AxolotlsFilesOfDeepSpeedSayWhatLiesInHostMemory) {
  const auto kept = [](const std::string& file) {
    const auto launch = read_in("base_model: Qwen/Qwen3-8B\nmicro_batch_size: 1\nsequence_len: 2048\nsample_packing: "
                                "true\nbf16: true\ndeepspeed: deepspeed_configs/" +
                                file + "\n");
    EXPECT_TRUE(launch) << to_text(launch.error());
    return std::pair(launch->find("zero_optimization.offload_optimizer.device") != nullptr,
        launch->find("zero_optimization.offload_param.device") != nullptr);
  };
  EXPECT_EQ(kept("zero3_bf16.json"), std::pair(false, false));
  EXPECT_EQ(kept("zero3_bf16_cpuoffload_params.json"), std::pair(false, true));
  EXPECT_EQ(kept("zero3_bf16_cpuoffload_all.json"), std::pair(true, true));
  EXPECT_EQ(kept("zero2.json"), std::pair(true, false));
}

/// NVIDIA-NeMo/Nemotron: src/nemotron/recipes. What the function of a recipe sets is in Python: it is asked for.
TEST(NamedCommands, RecipesThatATargetCallsAreRecipes) {
  const std::string run = "recipe:\n  _target_: megatron.bridge.recipes.qwen.qwen3.qwen3_8b_pretrain_config\n"
                          "  per_split_data_args_path: blend.json\ntrain:\n  global_batch_size: 32\n";
  const std::string open = meaning_of(run);
  EXPECT_THAT(open, AllOf(HasSubstr("the recipe qwen3_8b_pretrain_config has settings of its own"),
                        HasSubstr("does not tell tensor_model_parallel_size"), HasSubstr("--tp N")));
  EXPECT_THAT(open, Not(HasSubstr("global_batch_size"))) << "which it does";
  const std::string told = run + "  micro_batch_size: 1\nmodel:\n  tensor_model_parallel_size: 2\n"
                                 "  pipeline_model_parallel_size: 1\n  context_parallel_size: 1\n  seq_length: 4096\n";
  EXPECT_THAT(
      meaning_of(told), AllOf(HasSubstr("megatron-bridge qwen3-8b "), HasSubstr("tp=2"), HasSubstr("sequence=4096")));
  std::string tuned = told;
  tuned.replace(tuned.find("pretrain"), 8, "finetune");
  EXPECT_THAT(meaning_of(tuned), HasSubstr("may tune adapters"));
  tuned.insert(tuned.find("train:"), "  peft: null\n");
  EXPECT_THAT(meaning_of(tuned), AllOf(HasSubstr("megatron-bridge qwen3-8b "), HasSubstr("tp=2"))) << "all weights";
  std::string called = told;
  called.erase(called.find("  context_parallel_size: 1\n"), 27);
  called.insert(called.find("train:"), "  context_parallelism: 2\n");
  EXPECT_THAT(meaning_of(called), HasSubstr("cp=2"));
}

/// A command is no configuration, and its program alone may tell whose it is.
TEST_F(StrangersLaunch, CommandsOfOthersAreCalledLaunches) {
  const std::pair<const char*, const char*> launches[] = {{"oumi train -c a.yaml", "oumi"},
      {"oumi distributed torchrun -m oumi train -c a.yaml", "oumi"},
      {"python3 MaxText/train.py MaxText/configs/base.yml run_name=a base_output_directory=gs://x model_name=llama2-7b",
          "MaxText"},
      {"python3 -m MaxText.train base.yml run_name=a", "MaxText"},
      {"python3 -m verl.trainer.main config=examples/config.yaml", "EasyR1"},
      {"python3 -m verl.trainer.main_ppo data.train_batch_size=8", "verl"},
      {"torchrun --nproc-per-node=8 -m nemo_automodel.cli.app finetune llm -c a.yaml", "NeMo Automodel"},
      {"automodel finetune llm -c a.yaml", "NeMo Automodel"},
      {"torchrun --nproc_per_node 8 pretrain_qwen.py --num-layers 2 --hidden-size 64 --la-module gla", "Linear-MoE"}};
  for (const auto& [launch, name] : launches)
    EXPECT_THAT(predict("--launch", std::string(launch) + "\n").err,
        HasSubstr(fmt::format("a launch of {}, which is recognised and not read", name)))
        << launch;
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
