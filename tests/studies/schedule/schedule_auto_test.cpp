// stepcast schedule --auto: under the cap, never worse than the kinds, and in every form.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/schedule/run.h"
#include "tests/studies/run_program.h"
#include "tests/trials.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using AutoJson = nlohmann::json;

const std::string auto_times = " --forward 1 --input-grad 1 --weight-grad 1";

AutoJson auto_json(const std::string& words) {
  const auto ran = testing_program::run_line("schedule --auto " + words + " --json");
  EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
  return ran.code == 0 ? AutoJson::parse(ran.out) : AutoJson{};
}

int most_held(const AutoJson& json) {
  int most = 0;
  for (const auto& rank : json.at("ranks")) most = std::max(most, rank.at("peak_activations").get<int>());
  return most;
}

TEST(ScheduleAuto, FindsWhatTheBoundAllows) {
  // The last of 4 ranks starts after 3 forwards of half a rank, and then has 8 x 3 to do.
  const auto json = auto_json("--stages 4 --micro-batches 8" + auto_times);
  EXPECT_EQ(json.at("makespan"), 25.5);
  EXPECT_EQ(json.at("lower_bound"), 25.5);
  EXPECT_EQ(json.at("schedule"), "auto");
  EXPECT_EQ(json.at("auto").at("placement"), "V");
  EXPECT_EQ(json.at("auto").at("gap"), 0);
  EXPECT_GE(json.at("auto").at("tried"), 1);
  EXPECT_FALSE(json.at("auto").at("from").get<std::string>().empty());
}

TEST(ScheduleAuto, ChunksFixThePlacementAndTheUnitOfTheCap) {
  const std::string size = "--stages 4 --micro-batches 8" + auto_times;
  const auto one = auto_json(size + " --chunks 1 --memory-cap 4");
  EXPECT_EQ(one.at("makespan"), 27);  // ZB-H1's, which is the bound
  EXPECT_EQ(one.at("auto").at("placement"), "one stage per rank");
  EXPECT_LE(most_held(one), 4);
  const auto two = auto_json(size + " --chunks 2 --memory-cap 4");
  EXPECT_LE(most_held(two), 4);  // chunks: half of what the first may hold
  const auto either = auto_json(size + " --memory-cap 4");
  EXPECT_LE(either.at("auto").at("peak_micro_batches"), 4);
  EXPECT_EQ(either.at("makespan"), 25.5);  // a V with 8 chunks
  EXPECT_EQ(most_held(either), 8);
}

TEST(ScheduleAuto, HopsThatCostMoreThanChunksSaveLeaveOneStage) {
  // A V has twice the hops on its way: 2 x 6 x 20 more than 2 x 3 x 20 of one stage per rank.
  const auto json = auto_json("--stages 4 --micro-batches 4 --p2p 20" + auto_times);
  EXPECT_EQ(json.at("auto").at("placement"), "one stage per rank");
}

TEST(ScheduleAuto, MoreEffortTriesMoreAndIsNoWorse) {
  const std::string tight =
      "--stages 8 --micro-batches 32 --forward 10 --input-grad 12 --weight-grad 7 --memory-cap 8 --chunks 2";
  const auto little = auto_json(tight + " --effort 1000"),
             much = auto_json(tight + (sanitized ? " --effort 100000" : " --effort 2000000"));
  EXPECT_LE(much.at("makespan"), little.at("makespan"));
  EXPECT_GT(much.at("auto").at("tried"), little.at("auto").at("tried"));
}

/// Any kind with one copy of the weights and whole sequences.
double best_kind(const ScheduleRequest& request) {
  for (const ScheduleRun& run : compare_schedules(request).runs)
    if (run.order.directions == 1 && run.order.slices == 1) return run.timeline.makespan.value();
  return 1e300;
}

TEST(ScheduleAuto, NeverWorseThanAKindOfTheComparison) {
  int checked = 0;
  for (const auto& [ranks, micro_batches] : {std::pair{1, 2}, {2, 4}, {4, 8}}) {
    if (sanitized && ranks == 4) continue;
    for (const auto& [f, i, w] : {std::array{1.0, 1.0, 1.0}, std::array{10.0, 12.0, 7.0}, std::array{2.0, 1.0, 3.0}}) {
      for (const int cap : {0, 2, 4}) {
        ScheduleRequest request;
        request.size = {.ranks = ranks, .micro_batches = micro_batches};
        request.forward = f, request.input_grad = i, request.weight_grad = w;
        request.hop = 0.1 * f;
        request.blocking_hops = cap == 4;
        request.memory_cap = cap;
        const auto found = find_schedule_order(request);
        ASSERT_TRUE(found) << to_text(found.error());
        ASSERT_TRUE(check_order(found->order));
        EXPECT_LE(found->timeline.makespan.value(), best_kind(request) * (1 + 1e-9)) << ranks << ' ' << f << ' ' << cap;
        EXPECT_GE(found->gap_to_bound(), -1e-9);
        EXPECT_TRUE(cap == 0 || found->peak_micro_batches() <= cap);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, (sanitized ? 2 : 3) * 3 * 3);
}

TEST(ScheduleAuto, SlicesOnlyWhereAsked) {
  // With room for 2 micro-batches, slices hold half as much each.
  const std::string size = "--stages 4 --micro-batches 8 --memory-cap 2" + auto_times;
  const auto whole = auto_json(size), cut = auto_json(size + " --seq-splits 4");
  EXPECT_LE(cut.at("makespan"), whole.at("makespan"));
  EXPECT_TRUE(cut.at("auto").at("from") != "seq-1f1b" || cut.at("makespan") < whole.at("makespan"));
}

class ScheduleAutoFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string times(int entries) {
    const std::string name = folder_ + "times.json";
    const AutoJson list(std::vector<double>(static_cast<std::size_t>(entries), 1));
    std::ofstream(name) << AutoJson{{"forward", list}, {"input_grad", list}, {"weight_grad", list}};
    return name;
  }
  std::string folder_ = testing_program::own_path("schedule_auto/");
};

TEST_F(ScheduleAutoFiles, ListsOfTimesSayThePlacement) {
  const std::string size = "--stages 4 --micro-batches 8 --times ";
  EXPECT_EQ(auto_json(size + times(4)).at("auto").at("placement"), "one stage per rank");
  EXPECT_EQ(auto_json(size + times(8)).at("auto").at("placement"), "V");
  const auto five = testing_program::run_line("schedule --auto " + size + times(5));
  EXPECT_EQ(five.code, 2);
  EXPECT_THAT(five.err, HasSubstr("a list of 4 for one stage per rank, of 8 for two"));
}

TEST_F(ScheduleAutoFiles, EveryFormOfAKind) {
  const std::string words = "schedule --auto --stages 4 --micro-batches 8" + auto_times;
  const auto text = testing_program::run_line(words);
  EXPECT_THAT(text.out, HasSubstr("Best order found: 4 ranks, 8 micro-batches"));
  EXPECT_THAT(text.out, HasSubstr("found by"));
  EXPECT_THAT(text.out, HasSubstr("orders tried"));
  const auto csv = testing_program::run_line(words + " --csv --svg " + folder_ + "a.svg --trace " + folder_ + "a.json");
  ASSERT_EQ(csv.code, 0) << csv.err;
  EXPECT_TRUE(csv.out.starts_with("0F0,"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "a.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "a.json"));
  // What it finds is an order like any: read again, it takes as long.
  std::ofstream(folder_ + "a.csv") << csv.out;
  const auto again = testing_program::run_line("schedule --from " + folder_ + "a.csv --json" + auto_times);
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(AutoJson::parse(again.out).at("makespan"), 25.5);
}

struct RefusedAuto {
  const char *words, *reason;
};
constexpr RefusedAuto refused_auto[] = {
    {"--auto 1f1b --stages 4 --micro-batches 8", "a KIND does not go with --auto"},
    {"--auto --compare --stages 4 --micro-batches 8", "--auto: does not go with --compare"},
    {"--auto --from a.csv", "--from: does not go with --auto"},
    {"--auto --micro-batches 8", "--stages: is missing"},
    {"--auto --stages 4 --micro-batches 8 --chunks 3", "--chunks 1, --chunks 2, or leave it out"},
    {"--auto --stages 4 --micro-batches 8 --chunks 2 --memory-cap 1", "2 or more"},
    {"--auto --stages 4 --micro-batches 8 --effort -1", "--effort: "},
    {"--auto --stages 1048576 --micro-batches 1048576", "actions"},
    {"1f1b --stages 4 --micro-batches 8 --effort 10", "is about the search of --auto"},
};

TEST(ScheduleAuto, RefusesWithTheReasonToo) {
  for (const RefusedAuto& row : refused_auto) {
    const auto ran = testing_program::run_line(std::string("schedule ") + row.words + auto_times);
    EXPECT_EQ(ran.code, 2) << row.words;
    EXPECT_THAT(ran.err, HasSubstr(row.reason)) << row.words;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace stepcast::schedule
