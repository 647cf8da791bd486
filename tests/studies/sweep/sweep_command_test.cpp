// stepcast sweep as a user types it.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/sweep/result/result_file.h"
#include "studies/run/forecast.h"
#include "studies/sweep/search/run.h"
#include "tests/studies/sweep/space/space_of.h"
#include "tests/studies/sweep/typed_sweep.h"

namespace stepcast::sweep {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::Ran;
using testing_program::run_line;
using testing_sweep::expect_same_forecast;
using testing_sweep::swept;

const std::string small_sweep = "llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64";
// 38,880: several stretches of work
const std::string several = "--space " STEPCAST_SOURCE_DIR "/examples/spaces/llama3-70b-64.json";

std::string file_text_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The terminal lists the best 10; a page all that can run, as long as nobody says how many.
TEST(SweepCommand, APageListsAllThatCanRun) {
  const std::string page = own_path("all.html");
  const json answer = swept(small_sweep + " -o " + page);
  EXPECT_EQ(answer["top"].size(), 10U);
  const auto rows_of_page = [&] {
    const std::string text = file_text_of(page), begin = "\"rows\":{\"index\":[";
    const std::size_t from = text.find(begin), to = text.find(']', from);
    EXPECT_NE(from, std::string::npos);
    return static_cast<std::uint64_t>(std::count(text.begin() + from, text.begin() + to, ',')) + 1;
  };
  EXPECT_EQ(rows_of_page(), answer["priced"].get<std::uint64_t>());
  EXPECT_GT(rows_of_page(), 100U);
  EXPECT_THAT(file_text_of(page), HasSubstr("can run, all listed<"));
  EXPECT_THAT(file_text_of(page), HasSubstr("<h1>Llama 3 8B on DGX H100</h1>"));
  swept(small_sweep + " --top 7 -o " + page);
  EXPECT_EQ(rows_of_page(), 7U);
  EXPECT_THAT(file_text_of(page), HasSubstr("can run, the best 7 listed<"));
  std::filesystem::remove(page);
}

TEST(SweepCommand, JsonHasWhatWasCountedAndFound) {
  const json answer = swept(small_sweep + " --top 5 --pareto time,memory");
  for (const char* key : {"enumerated", "illegal", "does_not_fit", "smallest_overflow", "excluded", "priced", "pruned",
           "refined", "lowered", "elapsed_s", "max_fast_exact_gap", "bound_above_exact", "top", "ties", "pareto",
           "best_by_gpus", "why", "complete", "shard", "space_hash"})
    EXPECT_TRUE(answer.contains(key)) << key;
  std::uint64_t illegal = 0;
  for (const json& n : answer["illegal"]) illegal += n.get<std::uint64_t>();
  EXPECT_EQ(answer["enumerated"], 512);
  EXPECT_EQ(answer["enumerated"], illegal + answer["does_not_fit"].get<std::uint64_t>() +
                                      answer["excluded"].get<std::uint64_t>() + answer["priced"].get<std::uint64_t>());
  EXPECT_EQ(answer["priced"], answer["pruned"].get<std::uint64_t>() + answer["refined"].get<std::uint64_t>());
  EXPECT_EQ(answer["bound_above_exact"], 0);
  EXPECT_TRUE(answer["complete"].get<bool>());
  ASSERT_EQ(answer["top"].size(), 5U);
  EXPECT_EQ(answer["top"][0]["plan"]["pp"], "2");
  EXPECT_GT(answer["pareto"].size(), 1U);
  EXPECT_EQ(answer["pareto"][0]["index"], answer["top"][0]["index"]);
}

TEST(SweepCommand, TextSaysWhatStandsInTheWayAndWhy) {
  const Ran ran = run_line("sweep " + small_sweep);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  for (const char* part : {"Llama 3 8B on 8 x NVIDIA H100", "512 configurations", "cannot run, or repeat another",
           "GPUs do not divide by tp x cp x pp", "do not fit: smallest overflow", "dismissed by their bound",
           "largest gap between", "Best by step_time", " 1=", "within the error of a comparison",
           "Why the first one wins", "the best with another split",
           "the usual rule of thumb (tp up to a node, then the smallest pp", "most of it",
           "stepcast predict llama3-8b --machine dgx-h100 --global-batch 64"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(ran.out, Not(HasSubstr("WARNING")));
}

// The error of a comparison is one-sided, so that tied rows lie within its factor of the first, and the next one does
// not.
TEST(SweepCommand, TiesAreTheRowsWithinThePairSpread) {
  const json answer = swept(small_sweep);
  const double spread = answer["ties"]["pair_spread"], first = answer["top"][0]["report"]["step_time_s"];
  const std::size_t count = answer["ties"]["count"];
  ASSERT_GT(count, 1U);
  ASSERT_LT(count, answer["top"].size());
  EXPECT_LE(answer["top"][count - 1]["report"]["step_time_s"].get<double>(), first * std::exp(spread));
  EXPECT_GT(answer["top"][count]["report"]["step_time_s"].get<double>(), first * std::exp(spread));
  EXPECT_EQ(answer["ties"]["measure"].size(), 2U);
  EXPECT_EQ(answer["ties"]["measure"][0], 0);
}

TEST(SweepCommand, TiesAreOfOneGpuCountAndOfTimes) {
  const json answer = swept("llama3-8b --gpus 8,16 --global-batch 64 --objective cost --price 2 --top 20");
  const json& top = answer["top"];
  for (const json& row : answer["ties"]["rows"])
    EXPECT_EQ(top[row.get<std::size_t>()]["plan"]["gpus"], top[0]["plan"]["gpus"]);
  bool both = false;
  for (const json& row : top) both |= row["plan"]["gpus"] != top[0]["plan"]["gpus"];
  EXPECT_TRUE(both) << "the list holds one count only, and the test shows nothing";
  EXPECT_TRUE(swept(small_sweep + " --objective memory_headroom")["ties"].is_null());
}

TEST(SweepCommand, EachGpuCountHasItsBest) {
  const json answer = swept("llama3-8b --gpus 16,8 --global-batch 64 --top 2");
  ASSERT_EQ(answer["best_by_gpus"].size(), 2U);
  for (const json& best : answer["best_by_gpus"]) {
    const json alone =
        swept(fmt::format("llama3-8b --gpus {} --global-batch 64 --top 1", best["plan"]["gpus"].get<std::string>()));
    EXPECT_EQ(best["report"], alone["top"][0]["report"]);
    expect_same_forecast(best);
  }
  EXPECT_EQ(answer["best_by_gpus"][0]["plan"]["gpus"], "8");
  EXPECT_EQ(swept(small_sweep)["best_by_gpus"].size(), 0U);
}

TEST(SweepCommand, WhyAddsUpToTheDifference) {
  const json answer = swept(small_sweep);
  const double first = answer["top"][0]["report"]["step_time_s"];
  for (const char* rival : {"runner_up", "naive"}) {
    const json& why = answer["why"][rival];
    double sum = 0;
    for (const json& phase : why["winner_less_rival_s"]) sum += phase.get<double>();
    EXPECT_NEAR(sum, first - why["report"]["step_time_s"].get<double>(), 1e-9) << rival;
  }
  // Rank 2 differs from the first in chunks alone.
  EXPECT_EQ(answer["why"]["runner_up"]["rank"], 3);
  EXPECT_TRUE(answer["why"]["runner_up"]["other_split"].get<bool>());
  EXPECT_TRUE(swept(small_sweep + " --tp 8 --pp 1 --micro-batch 1 --recompute none")["why"]["naive_wins"].get<bool>());
}

TEST(SweepCommand, ExhaustiveFindsTheSame) {
  const json fast = swept(small_sweep), all = swept(small_sweep + " --exhaustive");
  EXPECT_EQ(all["pruned"], 0);
  EXPECT_GT(all["refined"], fast["refined"]);
  EXPECT_EQ(all["top"], fast["top"]);
}

TEST(SweepCommand, ShardsMergeToTheWhole) {
  const std::string whole = own_path("whole.jsonl");
  std::string parts;
  for (int i = 0; i < 3; ++i) {
    const std::string part = own_path(fmt::format("{}.jsonl", i));
    std::filesystem::remove(part);
    const json answer = swept(fmt::format("{} --shard {}/3 -o {}", several, i, part));
    EXPECT_EQ(answer["shard"]["index"], i);
    EXPECT_TRUE(answer["complete"].get<bool>());
    parts += " " + part;
  }
  std::filesystem::remove(whole);
  EXPECT_EQ(run_line("sweep " + several + " --threads 2 -o " + whole).code, 0);
  const std::string merged = own_path("merged.jsonl");
  std::filesystem::remove(merged);
  EXPECT_EQ(run_line("merge" + parts + " -o " + merged).code, 0);
  EXPECT_EQ(file_text_of(merged), file_text_of(whole));
}

TEST(SweepCommand, ResumeGoesOnFromWhatIsDone) {
  const Space space = testing_space::good(several);
  SweepOptions options;
  int asked = 0;
  options.stop = [&] { return ++asked > 20; };
  const auto partial = run_sweep(space, {}, options);
  ASSERT_TRUE(partial.has_value());
  ASSERT_FALSE(partial->result.complete());
  const std::string kept = own_path("kept.jsonl"), whole = own_path("whole.jsonl");
  for (const std::string& name : {kept, whole}) std::filesystem::remove(name);
  std::ofstream(kept, std::ios::binary) << write_result(partial->result);

  const Ran refused = run_line("sweep " + several + " -o " + kept);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds an unfinished result of this sweep"));
  EXPECT_EQ(file_text_of(kept), write_result(partial->result));

  const json answer = swept(several + " --resume -o " + kept);
  EXPECT_EQ(answer["done_before"], partial->result.tally.enumerated);
  EXPECT_EQ(answer["enumerated"], space.size());
  EXPECT_EQ(run_line("sweep " + several + " -o " + whole).code, 0);
  EXPECT_EQ(file_text_of(kept), file_text_of(whole));
}

TEST(SweepCommand, CtrlCLeavesAWholeResult) {
  const std::string kept = own_path("kept.jsonl");
  std::filesystem::remove(kept);
  std::thread user([&] {
    while (!std::filesystem::exists(kept)) std::this_thread::yield();
    kill(getpid(), SIGINT);
  });
  const Ran ran = run_line(
      "sweep --space " STEPCAST_SOURCE_DIR "/examples/spaces/calculon.json --exhaustive --threads 1 --json -o " + kept);
  user.join();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("of 3,902,976 configurations are done; they are in " + kept +
                                 ": go on with the same command and --resume"));
  EXPECT_THAT(ran.err, testing::AllOf(testing::StartsWith("stepcast: interrupted: "), Not(HasSubstr("failed"))));
  EXPECT_FALSE(json::parse(ran.out)["complete"].get<bool>());
  const auto result = read_result_file(kept);
  ASSERT_TRUE(result.has_value()) << to_text(result.error());
  EXPECT_FALSE(result->complete());
}

TEST(SweepCommand, TablesAreWrittenBesideTheResult) {
  const std::string table = own_path("r.csv"), base = own_path("r.sqlite"), kept = own_path("r.jsonl");
  std::filesystem::remove(kept);
  const Ran ran = run_line(fmt::format("sweep {} --top 3 -o {} -o {} -o {}", small_sweep, table, base, kept));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Written: " + table));
  EXPECT_THAT(file_text_of(table), testing::StartsWith("list,rank,index,gpus,precision,tp,"));
  EXPECT_THAT(file_text_of(base), testing::StartsWith("SQLite format 3"));
  EXPECT_EQ(read_result_file(kept)->top.size(), 3U);
}

TEST(SweepCommand, TheReportIsPrintedThoughATableCannotBeWritten) {
  const std::string full = own_path("full.csv"), page = own_path("r.html");
  std::filesystem::remove(page);
  std::filesystem::remove(full);
  std::filesystem::create_symlink("/dev/full", full);
  const Ran ran = run_line(fmt::format("sweep {} --top 3 -o {} -o {}", small_sweep, full, page));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("Best by step_time"));
  EXPECT_THAT(ran.out, HasSubstr("Written: " + page + "\n")) << "the others are written all the same";
  EXPECT_THAT(
      ran.err, HasSubstr("stepcast: the run failed: " + full + ": could not be written: No space left on device"));
  std::filesystem::remove(full);
}

TEST(SweepCommand, NothingLeftIsAResultWithItsReason) {
  const Ran illegal = run_line("sweep llama3-70b --gpus 7 --tp 3 --global-batch 64");
  EXPECT_EQ(illegal.code, 0);
  EXPECT_THAT(illegal.out, HasSubstr("No configuration of this space can run."));
  EXPECT_THAT(illegal.out, HasSubstr("legal tp: 1, 2, 4, 8"));

  const std::string large = "llama3-70b --gpus 8 --global-batch 64";
  const Ran overflow = run_line("sweep " + large);
  EXPECT_EQ(overflow.code, 0);
  EXPECT_THAT(overflow.out, HasSubstr("No configuration fits in memory."));
  EXPECT_THAT(overflow.out, HasSubstr("The nearest miss holds optimizer"));
  const json answer = swept(large);
  EXPECT_TRUE(answer["top"].empty());
  EXPECT_TRUE(answer["why"].is_null());
  EXPECT_GT(answer["smallest_overflow"]["bytes"], 0);
  EXPECT_EQ(answer["smallest_overflow"]["plan"]["tp"], "8");

  for (const char* where : {"tp>16", "memory.peak<1GiB", "step_time<1s"}) {
    const Ran ran = run_line(fmt::format("sweep {} --where {}", small_sweep, where));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("No configuration meets the constraint.")) << where;
    EXPECT_THAT(ran.out, HasSubstr("Without it the best is tp 1, pp 2")) << where;
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("excluded by '{}'", where)));
    const json excluded = swept(fmt::format("{} --where {}", small_sweep, where));
    EXPECT_EQ(excluded["excluded"], 150 + (std::string(where) == "tp>16" ? 66 : 0)) << where;
    EXPECT_TRUE(excluded.contains("best_without_where"));
  }
}

/// 126 layers: of their divisors only 1 and 2 divide 16,384 GPUs, so that layers lie unevenly on 1, 2, 4, ... stages.
TEST(SweepCommand, DepthsThatDivideLayersButNoGpusAreNotAllThatIsTried) {
  const std::string meta = "llama3-405b --machine dgx-h100 --gpus 16384 --global-batch 2048 --seq 8k --tp 8 --top 1";
  const json answer = swept(meta);
  ASSERT_EQ(answer["top"].size(), 1U);
  EXPECT_EQ(answer["top"][0]["plan"]["layout"], "balanced");
  const auto few = run_line("sweep " + meta + " --pp 1,2 --layout even --chunks 1");
  EXPECT_THAT(few.out, HasSubstr("No configuration fits in memory."));
  EXPECT_THAT(few.out, HasSubstr("--pp 4,8,16,32,64 --layout balanced"));
}

TEST(SweepCommand, DryRunOnlyCounts) {
  const json plan = swept(several + " --dry-run --shard 1/3");
  EXPECT_EQ(plan["configurations"], 38'880 / 3);
  EXPECT_EQ(plan["axes"]["zero"], json({"1", "2", "3"}));
  EXPECT_GT(plan["estimate_s"], 0);
  EXPECT_GE(plan["estimate_most_s"], plan["estimate_s"]);
  EXPECT_EQ(plan["space_hash"], swept(several + " --shard 0/500")["space_hash"]);
  const Ran text = run_line("sweep " + small_sweep + " --dry-run");
  EXPECT_THAT(text.out, HasSubstr("512 configurations"));
  EXPECT_THAT(text.out, HasSubstr("micro-batch       1, 2, 4, 8"));
}

/// Words that are no axis of the sweep, or that a word such as auto may stand for, would drop what they describe.
TEST(SweepCommand, WordsThatNobodyChoseFilterNothing) {
  for (const char* tier : {"tp_tier", "pp_tier", "dp_tier"}) {
    const Ran ran = run_line("sweep " + small_sweep + " --where " + tier + "==node");
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(fmt::format("'{}' is no axis of this sweep", tier)));
  }
  for (const char* open : {"sp==on", "sp!=off", "dp_overlap==on", "schedule==1f1b"})
    EXPECT_THAT(run_line("sweep " + small_sweep + " --where " + open).err, HasSubstr("auto comes to")) << open;
  EXPECT_EQ(run_line("sweep " + small_sweep + " --sp on,off --where sp==on").code, 0);
  EXPECT_EQ(run_line("sweep " + small_sweep + " --where schedule!=gpipe").code, 0);
  const json result = swept(small_sweep);
  EXPECT_FALSE(result["top"].empty());
  for (const json& row : result["top"]) EXPECT_FALSE(row["plan"].contains("pp_tier"));
}

TEST(SweepCommand, MistakesAreExplained) {
  const std::string notes = own_path("notes.jsonl");
  std::ofstream(notes) << "my notes\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "no network is named"},
      {"llama3-8b --global-batch 8", "the number of GPUs is missing"},
      {"llama3-8b --gpus 8", "the global batch is missing"},
      {small_sweep + " --tp 0", "--tp"},
      {small_sweep + " --where tpp<3", "tpp"},
      {small_sweep + " --where cost<3", "--where: the cost needs the price of a GPU-hour\n  --price 2.5"},
      {small_sweep + " --where schedule==gpip", "'gpip' is no value of 'schedule'\n  did you mean 'gpipe'?"},
      {small_sweep + " --where recompute!=ful", "'ful' is no value of 'recompute'"},
      {small_sweep + " --objective speed", "unknown figure 'speed'"},
      {small_sweep + " --objective cost", "--price"},
      {small_sweep + " --pareto time", "two figures or more"},
      {small_sweep + " --resume", "there is no file to go on from"},
      {small_sweep + " --snapshot 1", "there is no file to bring up to date"},
      {small_sweep + " --snapshot soon -o x.jsonl", "'soon' is no number of seconds"},
      {small_sweep + " --shard 3/3", "--shard"},
      {small_sweep + " --dry-run -o x.csv", "does not go with --output"},
      {small_sweep + " -o x.xlsx", "unknown ending '.xlsx'"},
      {small_sweep + " -o a.jsonl -o b.jsonl", "a.jsonl and b.jsonl would both keep the result"},
      {small_sweep + " -o a.csv -o ./a.csv", "./a.csv is named twice"},
      {small_sweep + " -o a.csv,", "unknown ending '.csv,'"},
      {small_sweep + " -o no/such/folder/a.csv", "cannot be written: No such file or directory"},
      {small_sweep + " -o no/such/folder/a.jsonl", "cannot be written: No such file or directory"},
      {small_sweep + " -o /dev/full", "/dev/full is no regular file"},
      {small_sweep + " -o " + notes, "is no whole result of a sweep"},
      {small_sweep + " --resume -o " + notes, "nothing was changed in it"},
  };
  for (const auto& [line, what] : cases) {
    const Ran ran = run_line("sweep " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_EQ(ran.out, "") << line;
    EXPECT_THAT(ran.err, HasSubstr(what)) << line;
  }
  EXPECT_EQ(file_text_of(notes), "my notes\n");
}

}  // namespace
}  // namespace stepcast::sweep
