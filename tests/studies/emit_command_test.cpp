// --emit as a user types it, on predict and on sweep.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/sweep/typed_sweep.h"

namespace stepcast::studies {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing_program::own_path;
using testing_program::Ran;
using testing_program::run_line;

const std::string emitted_run = "predict llama3-70b --machine dgx-h100 --gpus 64 --tp 8 --pp 4 --global-batch 64";

std::string emit_file(const std::string& name, const std::string& text) {
  const std::string path = own_path(name);
  std::ofstream(path) << text;
  return path;
}

TEST(EmitCommand, TheTextStandsInPlaceOfTheReport) {
  const Ran ran = run_line(emitted_run + " --emit megatron");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("#!/bin/bash\n"));
  EXPECT_THAT(ran.out, HasSubstr("--tensor-model-parallel-size 8"));
  EXPECT_THAT(ran.out, Not(HasSubstr("Step time")));
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST(EmitCommand, WhatCannotBeSaidIsOnStderr) {
  const Ran ran = run_line(emitted_run + " --emit megatron --schedule zb-h1 --save-gathered on");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(
      ran.err, HasSubstr("stepcast: megatron cannot say: the schedule zb-h1 on 4 stages; Megatron-LM runs 1F1B\n"));
  EXPECT_THAT(ran.err, HasSubstr("stepcast: megatron cannot say: gathered activations kept"));
  EXPECT_THAT(ran.out, HasSubstr("# It cannot say: the schedule zb-h1"));
}

TEST(EmitCommand, AnotherNetworkIsNotWritten) {
  const std::string run = "predict qwen3-next-80b-a3b --machine dgx-h100 --gpus 64 --global-batch 64";
  for (const char* target : {"megatron", "nemo"}) {
    const Ran ran = run_line(fmt::format("{} --emit {}", run, target));
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("would train another network"),
                             HasSubstr("the pattern of its layers"), HasSubstr("--lenient")));
    const Ran lenient = run_line(fmt::format("{} --emit {} --lenient", run, target));
    EXPECT_EQ(lenient.code, 0) << lenient.err;
    EXPECT_THAT(lenient.err, HasSubstr("cannot say: "));
  }
  EXPECT_THAT(run_line("predict deepseek-v3 --gpus 256 --global-batch 256 --zero 3 --emit accelerate").err,
      HasSubstr("1 prediction module; it trains none"));
}

/// The error names flags, and with these the plan is written.
TEST(EmitCommand, APlanThatTheFrameworkRefusesIsNotWritten) {
  struct Row {
    const char *run, *target, *reason, *instead;
  };
  const Row rows[] = {
      {"mixtral-8x7b --gpus 16 --tp 2 --sp off --zero 1", "megatron", "without sequence parallelism", "--sp on"},
      {"mixtral-8x7b --gpus 16 --tp 2 --ep 4 --sp off --zero 1", "nemo", "without sequence parallelism", "--sp on"},
      {"gpt-oss-20b --gpus 16 --tp 2 --ep 4 --etp 2 --zero 1", "megatron", "biases on experts", "--etp 1"},
      {"gpt-oss-20b --gpus 16 --tp 2 --ep 4 --etp 2 --zero 1", "nemo", "biases on experts", "--etp 1"},
      {"gpt-oss-20b --gpus 16 --pp 2 --zero 3 --stack fsdp2", "torchtitan", "stages of this network", "--pp 1"},
      {"deepseek-v2-lite --gpus 16 --cp 2 --zero 3 --stack fsdp2", "torchtitan", "context parallelism", "--cp 1"},
      {"llama3-8b --gpus 16 --pp 2 --zero 2", "deepspeed", "ZeRO 2 or 3 beside stages", "--zero 1"},
  };
  for (const Row& row : rows) {
    const std::string run =
        fmt::format("predict {} --machine dgx-h100 --global-batch 64 --emit {}", row.run, row.target);
    const Ran refused = run_line(run);
    EXPECT_EQ(refused.code, 2) << run;
    EXPECT_THAT(refused.out, IsEmpty()) << run;
    EXPECT_THAT(refused.err, testing::AllOf(HasSubstr("refuses to train this plan"), HasSubstr(row.reason),
                                 HasSubstr(std::string(row.instead) + " for the nearest plan")))
        << run;
    const Ran lenient = run_line(run + " --lenient");
    EXPECT_EQ(lenient.code, 0) << run;
    EXPECT_THAT(lenient.err, HasSubstr(row.reason)) << run << ": said beside what is written";
    std::string other = run;  // a flag stands once
    const std::string flag = " " + std::string(row.instead).substr(0, std::string(row.instead).find(' ') + 1);
    const std::size_t at = other.find(flag);
    ASSERT_NE(at, std::string::npos) << run;
    other.erase(at, other.find(" --", at + 1) - at);
    const Ran nearest = run_line(other + " " + row.instead);
    EXPECT_EQ(nearest.code, 0) << run << ": " << nearest.err;
    EXPECT_THAT(nearest.out, Not(IsEmpty())) << run;
  }
}

/// megatron/training/arguments.py of core_v0.19.0.
TEST(EmitCommand, AnOptimizerGoesWithTheShardsThatItsFrameworkHas) {
  const auto emits = [](const char* optimizer, const char* zero) {
    const std::string path = emit_file(
        "muon.sh", fmt::format("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
                               "--num-attention-heads 32 --micro-batch-size 1 --global-batch-size 64 --seq-length 4096 "
                               "--max-position-embeddings 4096 --bf16 --vocab-size 32000 --optimizer {}\n",
                       optimizer));
    return run_line(fmt::format("predict --megatron {} --machine dgx-h100 --zero {} --emit megatron", path, zero));
  };
  for (const char* optimizer : {"muon", "dist_muon"})
    for (const char* zero : {"2", "3"}) {
      const Ran ran = emits(optimizer, zero);
      EXPECT_EQ(ran.code, 2) << optimizer << zero;
      EXPECT_THAT(ran.err, HasSubstr(fmt::format("zero {} beside the optimizer {}", zero, optimizer)));
    }
  EXPECT_THAT(emits("dist_muon", "0").err, HasSubstr("whose name puts states in shards"));
  for (const auto& [optimizer, zero] :
      {std::pair{"muon", "0"}, std::pair{"muon", "1"}, std::pair{"dist_muon", "1"}, std::pair{"adam", "3"}})
    EXPECT_EQ(emits(optimizer, zero).code, 0) << optimizer << zero;
}

TEST(EmitCommand, TheHelpOfLenientSaysWhatItDoesToEmit) {
  EXPECT_THAT(run_line("help predict").out, HasSubstr("--emit writes what it"));
}

struct RefusedEmit {
  std::string line, where, what;
};

TEST(EmitCommand, WrongUseIsRefused) {
  const std::string other = emit_file("other.flow", "mesh tp:1 cp:1 dp:8 pp:1\nuse tp, dp\npar f on dp\n");
  const RefusedEmit rows[] = {{emitted_run + " --emit megatrn", "--emit", "did you mean 'megatron'"},
      {emitted_run + " --emit", "--emit", ""},
      {emitted_run + " --emit megatron --json", "--json", "does not go with --emit"},
      {emitted_run + " --emit megatron --explain", "--explain", "does not go with --emit"},
      {emitted_run + " --emit megatron --timeline", "--timeline", "does not go with --emit"},
      {emitted_run + " --emit megatron --print-scenario", "--print-scenario", "does not go with --emit"},
      {"predict llama3-8b --machine dgx-h100 --mapping " + other + " --emit megatron", other,
          "a mapping of your own cannot be written"},
      {"sweep llama3-8b --gpus 8 --global-batch 64 --emit megatron --json", "--json", "does not go with --emit"},
      {"sweep llama3-8b --gpus 8 --global-batch 64 --emit megatron --dry-run", "--dry-run", "does not go with --emit"},
      {"sweep llama3-405b --machine dgx-h100 --gpus 8 --global-batch 64 --emit megatron", "--emit",
          "no configuration is left"}};
  for (const RefusedEmit& row : rows) {
    const Ran ran = run_line(row.line);
    EXPECT_EQ(ran.code, 2) << row.line;
    EXPECT_THAT(ran.out, IsEmpty()) << row.line;
    EXPECT_THAT(ran.err, HasSubstr(row.where)) << row.line;
    EXPECT_THAT(ran.err, HasSubstr(row.what)) << row.line;
  }
}

TEST(EmitCommand, ASweepWritesItsBest) {
  const std::string sweep =
      "llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64 --tp 1,2,4 --pp 1,2 --recompute none";
  const json best = testing_sweep::swept(sweep + " --top 1")["top"][0];
  std::vector<std::string> words = testing_sweep::shell_words(best["command"]);
  words.erase(words.begin());
  for (const char* word : {"--emit", "megatron"}) words.emplace_back(word);
  const Ran alone = run_line(words), swept = run_line("sweep " + sweep + " --emit megatron");
  ASSERT_EQ(swept.code, 0) << swept.err;
  EXPECT_EQ(swept.out, alone.out);
  EXPECT_THAT(swept.out, HasSubstr("--tensor-model-parallel-size"));
}

/// What a scenario file says of the program: all but what is only called otherwise.
json emitted_program(const Ran& ran) {
  json file = json::parse(ran.out, nullptr, false);
  if (file.is_discarded()) return ran.err;
  for (const char* key : {"dp_overlap", "param_overlap", "tp_overlap", "pp_overlap", "scatter_boundary", "profile"})
    file.erase(key);
  return file;
}

TEST(EmitCommand, AScriptReadsBackAsTheRunThatItWasWrittenFor) {
  const std::string rows[] = {"llama3-70b --gpus 64 --tp 8 --pp 4 --global-batch 64",
      "llama3-70b --gpus 128 --tp 4 --cp 2 --cp-kind gather --pp 4 --chunks 2 --global-batch 128 --recompute full:6 "
      "--zero 0",
      "llama3-405b --gpus 64 --tp 8 --pp 4 --layout 32,32,31,31 --global-batch 64 --recompute selective --precision "
      "fp8",
      "mixtral-8x7b --gpus 64 --tp 2 --pp 2 --ep 8 --global-batch 256 --zero 3 --order tp-cp-dp-pp",
      "deepseek-v3 --gpus 256 --tp 1 --ep 64 --global-batch 2048 --zero 1 --recompute full",
      "gpt3-175b --gpus 128 --tp 8 --pp 8 --order tp-cp-pp-dp --sp off --global-batch 64 --dp-overlap off",
      "llama4-maverick --gpus 128 --tp 4 --pp 2 --ep 16 --global-batch 256"};
  for (const std::string& row : rows) {
    const std::string on = " --machine dgx-h100 --stack megatron-core";
    const Ran emitted = run_line("predict " + row + on + " --emit megatron");
    ASSERT_EQ(emitted.code, 0) << row << "\n" << emitted.err;
    EXPECT_THAT(emitted.err, IsEmpty()) << row;
    const std::string script = emit_file("run.sh", emitted.out);
    const json there = emitted_program(run_line("predict " + row + on + " --print-scenario"));
    const json back =
        emitted_program(run_line("predict --megatron " + script + " --machine dgx-h100 --print-scenario"));
    EXPECT_EQ(back, there) << row << "\n" << emitted.out;
  }
}

TEST(EmitCommand, ALaunchIsWrittenAgainWithItsOwnPaths) {
  const std::string old = emit_file("old.sh",
      "export NCCL_IB_TIMEOUT=22\n"
      "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n"
      "  --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 \\\n"
      "  --tensor-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 64 --bf16 \\\n"
      "  --save $CHECKPOINTS/a --lr 3e-4 --log-interval 5\n");
  const Ran ran = run_line("predict --megatron " + old + " --machine dgx-h100 --tp 2 --emit megatron");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"--tensor-model-parallel-size 2", "--save \"$CHECKPOINTS/a\"", "--lr 3e-4",
           "--log-interval 5", "export NCCL_IB_TIMEOUT=22"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(ran.out, Not(HasSubstr("--tensor-model-parallel-size 8")));
}

}  // namespace
}  // namespace stepcast::studies
