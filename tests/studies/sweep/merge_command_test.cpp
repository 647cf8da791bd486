// stepcast merge as a user types it.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"
#include "tests/studies/sweep/synthetic_results.h"

namespace stepcast::sweep {
namespace {

using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;
namespace synthetic = testing_sweep;

class MergeCommand : public testing::Test {
 protected:
  MergeCommand() : folder_(testing_program::own_path("merge/")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~MergeCommand() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const SweepResult& result) const {
    std::ofstream(folder_ + name, std::ios::binary) << write_result(result);
    return folder_ + name;
  }
  /// The names of all shards, behind spaces.
  std::string shards(std::uint64_t count) const {
    std::string names;
    for (std::uint64_t i = 0; i < count; ++i)
      names += " " + write(fmt::format("{}.jsonl", i), synthetic::result(question_, {i, count}));
    return names;
  }
  static std::string text_of(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void refused(const std::string& line, const std::string& what) {
    const Ran ran = run_line(line);
    EXPECT_EQ(ran.code, 2) << line << ran.out;
    EXPECT_EQ(ran.out, "") << line;
    EXPECT_THAT(ran.err, HasSubstr(what)) << line;
  }
  std::string folder_;
  SweepQuestion question_ = synthetic::question(1000);
};

TEST_F(MergeCommand, WritesWhatOneProcessWouldHave) {
  const std::string whole = write_result(synthetic::result(question_));
  for (const std::uint64_t count : {1, 3, 7}) {
    const std::string output = fmt::format("{}of_{}.jsonl", folder_, count);
    const Ran ran = run_line("merge" + shards(count) + " -o " + output);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(text_of(output), whole) << count;
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("llama3-8b on dgx-h100: 6,000 configurations from {} file", count)));
    EXPECT_THAT(ran.out, HasSubstr("Best by step_time"));
    EXPECT_THAT(ran.out, HasSubstr("Pareto front of step_time, memory.peak, tokens_per_s_per_gpu"));
    for (const char* words :
        {"cannot run, or repeat another", "not fit: smallest overflow", "tokens/s/GPU", "micro-batch"})
      EXPECT_THAT(ran.out, HasSubstr(words)) << "the words of sweep";
    EXPECT_THAT(ran.out, HasSubstr("Written: " + output));
  }
}

TEST_F(MergeCommand, JsonSaysTheSame) {
  const SweepResult whole = synthetic::result(question_);
  const Ran ran = run_line("merge" + shards(3) + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["files"].size(), 3U);
  EXPECT_EQ(json["enumerated"], 6000);
  EXPECT_EQ(json["does_not_fit"], whole.tally.does_not_fit);
  EXPECT_EQ(json["illegal"].size(), whole.tally.illegal.size());
  ASSERT_EQ(json["top"].size(), whole.top.size());
  EXPECT_EQ(json["top"][0]["index"], whole.top[0].index);
  EXPECT_EQ(json["top"][0]["plan"]["tp"], whole.top[0].choices[0]);
  EXPECT_EQ(json["top"][0]["report"]["step_time_s"], whole.top[0].figures[0]);
  EXPECT_EQ(json["pareto"].size(), whole.pareto.size());
}

TEST_F(MergeCommand, AFinishedResultBecomesATable) {
  const std::string whole = write("whole.jsonl", synthetic::result(question_));
  EXPECT_EQ(run_line("merge " + whole + " -o " + folder_ + "r.csv").code, 0);
  EXPECT_THAT(text_of(folder_ + "r.csv"), testing::StartsWith("list,rank,index,tp,schedule,micro_batch,"));
  EXPECT_EQ(run_line("merge " + whole + " -o " + folder_ + "r.sqlite").code, 0);
  EXPECT_THAT(text_of(folder_ + "r.sqlite"), testing::StartsWith("SQLite format 3"));
}

TEST_F(MergeCommand, NothingLeftIsAResult) {
  question_ = synthetic::question(0);
  const Ran ran = run_line("merge" + shards(2));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("0 configurations from 2 files"));
  EXPECT_THAT(ran.out, HasSubstr("No configuration of this space can run."));
}

TEST_F(MergeCommand, MistakesAreExplained) {
  const std::string all = shards(3), first = folder_ + "0.jsonl";
  refused("merge " + first + " " + folder_ + "2.jsonl", "shard 1/3 is missing");
  refused("merge" + all + " " + first, "0.jsonl: is shard 0/3, as ");
  refused("merge " + folder_ + "none.jsonl", "none.jsonl: cannot be read: No such file or directory");
  refused("merge " + folder_, "is a folder");
  refused("merge", "stepcast merge FILES... [-o RESULT] [--json]");
  refused("merge" + all + " -o " + first, "0.jsonl is also one of the files to merge");
  refused("merge" + all + " -o " + folder_ + "r.xlsx", "unknown ending '.xlsx'");
  refused("merge" + all + " -o " + folder_ + "no/such/r.csv", "cannot be written: No such file or directory");
  std::ofstream(folder_ + "notes") << "my notes\n";
  refused("merge " + folder_ + "notes", "notes: this is no result of a sweep");
  refused("merge" + all + " -o " + folder_ + "notes", "notes is there and is no whole result of a sweep");
  EXPECT_EQ(text_of(folder_ + "notes"), "my notes\n");
}

TEST_F(MergeCommand, OnlyEarlierExportsAreReplaced) {
  const std::string whole = write("whole.jsonl", synthetic::result(question_));
  for (const char* ending : {".csv", ".sqlite", ".db", ".html"}) {
    const std::string name = folder_ + "r" + ending;
    std::ofstream(name) << "my own work\n";
    refused("merge " + whole + " -o " + name,
        fmt::format("--output: {} is there and is no such file of stepcast\n  name another file", name));
    EXPECT_EQ(text_of(name), "my own work\n");
    std::ofstream(name, std::ios::trunc).close();
    for (const char* before : {"an empty file", "an earlier export"})
      EXPECT_EQ(run_line("merge " + whole + " -o " + name).code, 0) << name << before;
  }
}

TEST_F(MergeCommand, WhatCannotBeWrittenIsTold) {
  const Ran ran = run_line("merge" + shards(3) + " -o /dev/full");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("Best by step_time"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("Written")));
  EXPECT_THAT(ran.err, HasSubstr("the run failed: /dev/full: could not be written: No space left on device"));
}

TEST_F(MergeCommand, AFailedMergeLeavesTheEarlierResult) {
  const std::string output = write("whole.jsonl", synthetic::result(synthetic::question(3)));
  const std::string before = text_of(output);
  shards(3);
  refused("merge " + folder_ + "0.jsonl -o " + output, "shard 1/3 is missing; shard 2/3 is missing");
  EXPECT_EQ(text_of(output), before);
  EXPECT_FALSE(std::filesystem::exists(output + ".part"));
}

}  // namespace
}  // namespace stepcast::sweep
