// What is said again goes over what was said before, and what programs of fine-tuning do unless told.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/given_launch.h"
#include "tests/studies/launch/restated_launch.h"

namespace stepcast::launch::last_counts_test {
namespace {

using given_launches::said;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_launch::RestatedLaunch;

struct AgainRow {
  const char *file, *again, *key, *before, *after;
};

/// Each file says true; false behind -- is the run of a file that says false.
TEST(LastCounts, FalseAfterTrueIsFalse) {
  const AgainRow rows[] = {
      {"public/torchtune_70b_multinode.yaml", "enable_activation_checkpointing=False", "recompute", "full", "none"},
      {"public/axolotl_fft_8b.yml", "--gradient_checkpointing=false", "recompute", "full", "none"},
      {"public/llamafactory_llama3_full.yaml", "bf16=false", "precision", "bf16", "fp32"},
      {"public/primus_llama31_8b.yaml", "overlap_grad_reduce=false", "dp_overlap", "on", "off"},
      {"torchtitan_llama3_405b_0.2.2.toml", "--parallelism.enable_async_tensor_parallel=false", "tp_overlap", "on",
          "off"}};
  std::vector<RestatedLaunch> known = testing_launch::restated_launches("public_sources.json");
  for (RestatedLaunch& row : testing_launch::restated_launches()) known.push_back(std::move(row));
  for (const AgainRow& row : rows) {
    const auto found = std::ranges::find(known, row.file, &RestatedLaunch::file);
    ASSERT_NE(found, known.end()) << row.file;
    for (const bool again : {false, true}) {
      RestatedLaunch from = *found;
      if (again) from.words = {row.again};
      const auto launch = testing_launch::read_restated(from);
      ASSERT_TRUE(launch) << to_text(launch.error());
      const auto reading = testing_launch::restated_meaning(from, *launch);
      ASSERT_TRUE(reading) << to_text(reading.error());
      EXPECT_EQ(said(*reading, row.key), again ? row.after : row.before) << row.file;
    }
  }
}

Expected<LaunchReading> reading_of(
    const std::string& text, std::set<FieldId> told = {}, const char* flag = "--megatron") {
  LaunchSource source;
  source.flag = find_launch_flag(flag);
  source.file = "run.sh";
  TRY(const auto launch, read_launch_text(text + "\n", "run.sh", source));
  LaunchHints hints;
  hints.told = std::move(told);
  hints.told.insert(FieldId::sequence);  // as if --seq told it where samples are not packed
  return read_meaning(launch, hints);
}

/// What is said of a key; else the error.
std::string said_of(const std::string& text, const char* key, std::set<FieldId> told = {}) {
  const auto reading = reading_of(text, std::move(told));
  return reading ? said(*reading, key) : to_text(reading.error());
}

std::string notes_of(const std::string& text, const char* flag = "--megatron") {
  const auto reading = reading_of(text, {}, flag);
  return reading ? fmt::format("{}", fmt::join(reading->notes, "\n")) : to_text(reading.error());
}

std::string of_trainer(const char* program, const char* more) {
  return fmt::format("accelerate launch --num_processes 8 --use_fsdp --fsdp_sharding_strategy FULL_SHARD {} "
                     "--model_name_or_path meta-llama/Llama-2-7b-hf --max_length 1024 --per_device_train_batch_size 2 "
                     "--packing {}",
      program, more);
}

TEST(LastCounts, WithinOneCommandToo) {
  const char *off_last = "--bf16 --gradient_checkpointing True --gradient_checkpointing False",
             *on_last = "--bf16 --gradient_checkpointing False --gradient_checkpointing True";
  EXPECT_EQ(said_of(of_trainer("train.py", off_last), "recompute"), "none");
  EXPECT_EQ(said_of(of_trainer("train.py", on_last), "recompute"), "full");
}

TEST(FineTuningUnlessTold, TrlComputesInSixteenBitsAndRecomputes) {
  EXPECT_THAT(said_of(of_trainer("trl/scripts/sft.py", ""), "recompute"), HasSubstr("nothing says bf16"));
  const std::string untold = of_trainer("trl/scripts/sft.py", "--loss_type nll");  // an argument of 0.23.0 and later
  EXPECT_EQ(said_of(untold, "precision"), "bf16");
  EXPECT_EQ(said_of(untold, "recompute"), "full");
  EXPECT_THAT(notes_of(untold), AllOf(HasSubstr("bf16 true: as TRL has it unless told (from 0.19.0"),
                                    HasSubstr("gradient_checkpointing true: as TRL has it unless told (from 0.22.0")));
  const std::string told = of_trainer("trl/scripts/sft.py", "--fp16 True --gradient_checkpointing False");
  EXPECT_EQ(said_of(told, "precision"), "fp16");
  EXPECT_EQ(said_of(told, "recompute"), "none");
  EXPECT_THAT(notes_of(told), Not(HasSubstr("as TRL has it")));
  const std::string other = of_trainer("train.py", "");
  EXPECT_EQ(said_of(other, "precision"), "fp32");
  EXPECT_EQ(said_of(other, "recompute"), "none");
}

TEST(FineTuningUnlessTold, AdaptersAreWhereTheProgramHasThem) {
  const auto of_trl = [](const char* targets) {
    return notes_of(
        of_trainer("trl/scripts/sft.py", fmt::format("--use_peft --lora_r 16 --loss_type nll {}", targets).c_str()));
  };
  const char* all = "--lora_target_modules q_proj k_proj v_proj o_proj gate_proj up_proj down_proj";
  EXPECT_THAT(of_trl(""), HasSubstr("adapters on q,v: as PEFT has it unless told"));
  EXPECT_THAT(of_trl("--lora_target_modules all-linear"), Not(HasSubstr("adapters on")));
  EXPECT_THAT(of_trl(all), Not(HasSubstr("adapters on")));
  const std::string verl = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer "
                           "model.partial_pretrain=google/gemma-7b model.lora_rank=8 ";
  EXPECT_EQ(said_of(verl + "model.target_modules=[q_proj,v_proj]", "lora_on"), "q,v");
  EXPECT_EQ(said_of(verl, "lora_on"), "all");
}

/// Programs with adapters of their own in place of PEFT's: their rank, and beside which projections.
TEST(FineTuningUnlessTold, ProgramsHaveAdaptersOfTheirOwn) {
  const auto of = [](const char* program, const char* network, const char* more) {
    return fmt::format("torchrun --nproc_per_node 8 {} --model_name_or_path {} --per_device_train_batch_size 1 --bf16 "
                       "True --model_max_length 1024 {}",
        program, network, more);
  };
  const std::string vicuna = of("fastchat/train/train_lora.py", "meta-llama/Llama-2-7b-hf", "");
  EXPECT_EQ(said_of(vicuna, "lora"), "8");
  EXPECT_EQ(said_of(vicuna, "lora_on"), "q,v");
  EXPECT_THAT(notes_of(vicuna), HasSubstr("as FastChat has it unless told"));
  const std::string qwen = of("finetune.py", "Qwen/Qwen2.5-7B-Instruct", "--use_lora True");
  EXPECT_EQ(said_of(qwen, "lora"), "64");
  EXPECT_EQ(said_of(qwen, "lora_on"), "all");
  EXPECT_EQ(said_of(qwen + " --lora_r 16 --lora_target_modules q_proj v_proj", "lora_on"), "q,v");
  EXPECT_EQ(said_of(of("finetune.py", "Qwen/Qwen2.5-7B-Instruct", ""), "lora"), "(nothing)");
  const std::string open = of("open_instruct/finetune.py", "Qwen/Qwen3-0.6B", "--dataset_mixer_list a 1.0 --use_lora");
  EXPECT_EQ(said_of(open, "lora_on"), "all");
  EXPECT_THAT(notes_of(open), HasSubstr("as open-instruct has it unless told"));
}

TEST(FineTuningUnlessTold, NoneIsAChoiceOfMegatronSwift) {
  const std::string run = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096";
  EXPECT_EQ(said_of(run, "recompute"), "selective");
  const std::string none = run + " --recompute_granularity none";
  EXPECT_EQ(said_of(none, "recompute"), "none");
  EXPECT_THAT(notes_of(none, "--ms-swift"), AllOf(Not(HasSubstr("given again")), Not(HasSubstr("in spite of"))));
}

/// Its image tower and what joins it to the language model are frozen unless told.
TEST(FineTuningUnlessTold, SwiftFreezesItsImageTower) {
  const std::string end = " --train_type full --max_length 4096 --packing true --per_device_train_batch_size 1 "
                          "--gradient_accumulation_steps 2 --deepspeed zero3 --torch_dtype bfloat16 ",
                    run = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct" + end,
                    text = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct" + end;
  const std::string other = run + "--freeze_vit false --freeze_llm true", all = run + "--freeze_vit false "
                                                                                      "--freeze_aligner false";
  const std::set<FieldId> images{FieldId::images};
  EXPECT_EQ(said_of(run, "freeze", images), "encoder,projector");
  EXPECT_EQ(said_of(other, "freeze", images), "projector,language");
  EXPECT_EQ(said_of(all, "freeze", images), "(nothing)");
  EXPECT_EQ(said_of(run, "freeze", {FieldId::images, FieldId::freeze}), "(nothing)");
  EXPECT_EQ(said_of(run, "freeze"), "(nothing)") << "no images, so none of these parts";
  EXPECT_THAT(said_of(other, "freeze"), HasSubstr("the language model is frozen"));
  EXPECT_EQ(said_of(text + "--freeze_llm true", "freeze"), "(nothing)") << "of networks with images alone";
}

}  // namespace
}  // namespace stepcast::launch::last_counts_test
