// TRL's fine-tuning, whose defaults changed over its releases, and sequences of samples that are not packed.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/meant_launch.h"
#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using meant_launches::meaning_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string sft = "accelerate launch --num_processes 8 trl/scripts/sft.py --model_name_or_path "
                        "meta-llama/Llama-3.1-8B --dataset_name a --per_device_train_batch_size 2 --packing ";

/// trl/trainer/sft_config.py: recomputation is on from v0.22.0 on, and bf16 from v0.19.0 on; names of some releases
/// alone tell which it is.
TEST(TrlReleases, NamesOfAReleaseTellItsDefaults) {
  const auto with = [](const std::string& more) { return meaning_of(sft + more + "\n", "run.sh"); };
  EXPECT_THAT(with("--bf16 --loss_type nll"), HasSubstr("recompute=full"));
  EXPECT_THAT(with("--bf16 --max_seq_length 2048"), HasSubstr("recompute=none")) << "gone in 0.20";
  EXPECT_THAT(with("--bf16 --max_length 2048"),
      AllOf(HasSubstr("nothing says gradient_checkpointing"), HasSubstr("--gradient_checkpointing true"),
          HasSubstr("--recompute beside the launch")));
  EXPECT_THAT(with("--bf16 --max_length 2048 --gradient_checkpointing true"), HasSubstr("recompute=full"));
  EXPECT_THAT(with("--bf16 --max_length 2048 --gradient_checkpointing false"), HasSubstr("recompute=none"));
  EXPECT_THAT(with("--max_length 2048 --gradient_checkpointing true"), HasSubstr("nothing says bf16"));
  EXPECT_THAT(with("--loss_type nll"), HasSubstr("precision=bf16"));
  EXPECT_THAT(with("--num_of_sequences 4 --max_seq_length 2048"), HasSubstr("precision=fp32"));
  EXPECT_THAT(with("--fp16 --loss_type nll"), HasSubstr("precision=fp16"));
}

/// examples/scripts: programs beside sft.py train as it does, or by preferences, answers or a teacher.
TEST(TrlReleases, ItsOtherProgramsAreKnownByTheirNames) {
  const auto run = [](const std::string& program, const std::string& more) {
    return meaning_of("accelerate launch --num_processes 8 --mixed_precision bf16 examples/scripts/" + program +
                          " --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name a --packing --max_length 2048 "
                          "--dtype bfloat16 " +
                          more + "\n",
        "run.sh");
  };
  const std::string batch = "--per_device_train_batch_size 2";
  for (const char* program : {"sft.py", "sft_gpt_oss.py", "sft_gemma3.py"})
    EXPECT_THAT(run(program, batch), HasSubstr("recompute=full")) << program;
  EXPECT_THAT(run("sft.py", ""), HasSubstr("micro-batch")) << "its command has no batch of its own";
  for (const char* program : {"dpo.py", "kto.py", "orpo.py", "cpo.py", "bco.py", "gkd.py", "gold.py", "sdft.py",
           "distillation.py", "rloo.py", "xpo.py", "nash_md.py", "prm.py", "reward_modeling.py", "grpo_agent.py"})
    EXPECT_THAT(run(program, batch), HasSubstr(std::string(program) + " trains by")) << program;
}

TEST(TrlReleases, NamesOfTwoReleasesAgreeOrAreAsked) {
  const auto with = [](const std::string& more) { return meaning_of(sft + "--bf16 " + more + "\n", "run.sh"); };
  EXPECT_THAT(with("--packing_strategy bfd --max_seq_length 2048"), HasSubstr("recompute=none")) << "0.19 alone";
  EXPECT_THAT(with("--pad_to_multiple_of 8"), HasSubstr("nothing says gradient_checkpointing")) << "from 0.18 on";
}

TEST(TrlReleases, SequencesAreOf1024TokensUnlessTold) {
  EXPECT_THAT(meaning_of(sft + "--bf16 --loss_type nll\n", "run.sh"), HasSubstr("sequence=1024"));
  EXPECT_THAT(meaning_of(sft + "--bf16 --loss_type nll --max_length 4096\n", "run.sh"), HasSubstr("sequence=4096"));
}

/// "trl sft" has a micro-batch of 8, as the Trainer has it, and a rank for each GPU.
TEST(TrlReleases, ItsCommandIsOneOfTheTrainer) {
  const std::string run = " --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name a --loss_type nll --packing\n";
  EXPECT_THAT(meaning_of("trl sft" + run, "run.sh"),
      AllOf(HasSubstr("trainer llama3-8b "), HasSubstr("micro_batch=8"), HasSubstr("recompute=full")));
  EXPECT_THAT(meaning_of("trl dpo" + run, "run.sh"), HasSubstr("trains by preferences"));
}

TEST_F(StrangersLaunch, AFlagTellsWhatTrlLeavesOpen) {
  const std::string run = sft + "--bf16 --max_length 2048\n";
  EXPECT_EQ(predict("--launch", run).code, 2);
  const Ran told = predict("--launch", run, "--recompute full --machine dgx-h200");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("recompute full"));
}

/// Every program that fills batches up to the longest sample: the bound of samples is not the length of a sequence.
TEST_F(StrangersLaunch, SequencesOfSamplesThatAreNotPackedAreAskedFor) {
  const std::string model = " --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --bf16 true";
  const std::string factory = "NPROC_PER_NODE=8 llamafactory-cli train --stage sft --finetuning_type full --cutoff_len "
                              "2048 --deepspeed examples/deepspeed/ds_z3_config.json" +
                              model;
  const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 2048 "
                            "--deepspeed zero3";
  const std::string lit = "litgpt finetune_full meta-llama/Llama-2-7b-hf --train.max_seq_length 2048 --devices 8";
  const std::string trl = "torchrun --nproc_per_node 8 trl/scripts/sft.py --fsdp full_shard --max_length 2048 "
                          "--gradient_checkpointing true" +
                          model;
  for (const std::string& run : {factory, swift, lit, trl}) {
    const Ran open = predict("--launch", run + "\n");
    EXPECT_EQ(open.code, 2) << run;
    EXPECT_THAT(open.err, AllOf(HasSubstr("samples are not packed"), HasSubstr("--seq N"))) << run;
    const Ran told = predict("--launch", run + "\n", "--seq 700");
    EXPECT_EQ(told.code, 0) << run << told.err;
    EXPECT_THAT(told.out, HasSubstr("sequences of 700")) << run;
    const Ran bound = predict("--launch", run + "\n", "--lenient");
    EXPECT_EQ(bound.code, 0) << run << bound.err;
    EXPECT_THAT(bound.out + bound.err, AllOf(HasSubstr("sequences of 2048"), HasSubstr("samples are not packed")))
        << run;
  }
  for (const std::string& run : {factory + " --packing true", swift + " --packing true", trl + " --packing true",
           trl + " --pad_to_max_length true"}) {
    const Ran full = predict("--launch", run + "\n");
    EXPECT_THAT(full.err, Not(HasSubstr("samples are not packed"))) << run;
  }
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
