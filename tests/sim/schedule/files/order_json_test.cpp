// stepcast's own order files: every generator comes back, durations come back, mistakes name their place.
#include "sim/schedule/files/order_json.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::order_json_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* small_file = R"({
  "micro_batches": 2,
  "rank_of": [0, 1],
  "ranks": [{"order": ["0F0", "0F1", "0B0", "0B1"]}, {"order": ["1F0", "1B0", "1F1", "1B1"]}],
  "durations": [{"forward": [1, 2], "input_grad": [2, 2], "weight_grad": [0, 0]},
                {"forward": [1, 3], "input_grad": [2, 4], "weight_grad": [0, 0]}]
})";

std::string altered_file(const std::string& from, const std::string& to) {
  std::string text = small_file;
  return text.replace(text.find(from), from.size(), to);
}

std::string refused_order(const std::string& text) {
  const auto file = read_order_json(text, "o.json");
  return file ? "read" : to_text(file.error());
}

TEST(OrderJson, OrderAndDurationsAreRead) {
  const auto file = read_order_json(small_file, "o.json");
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_TRUE(file->has_durations);
  EXPECT_EQ(pipelines::strings_of(file->timed.order, 1), "1F0 1B0 1F1 1B1");
  EXPECT_EQ(file->timed.times.forward_each, (std::vector<double>{1, 2, 1, 3}));
  EXPECT_EQ(file->timed.times.forward[1], Seconds(2));
  // Rank 0: F 0-1, 1-3. Rank 1: F 1-2, B 2-4, F 4-7, B 7-11. Rank 0's last B: 11-13.
  EXPECT_EQ(pipelines::timeline_of(file->timed.order, file->timed.times).makespan, Seconds(13));
}

TEST(OrderJson, MistakesNameTheirPlace) {
  EXPECT_THAT(refused_order("{"), StartsWith("o.json"));
  EXPECT_THAT(refused_order(altered_file("0F1", "0X1")), StartsWith("o.json:/ranks/0/order/1: cell '0X1'"));
  EXPECT_THAT(refused_order(altered_file("0F1", "0SEND_F1")), HasSubstr("'0SEND_F1' is no action of an order"));
  EXPECT_THAT(refused_order(altered_file("0F1", "0BW1")), HasSubstr("F, I, W, or B"));
  EXPECT_THAT(refused_order(altered_file("1F0", "1F1")), HasSubstr("rank 1: B(s=1, mb=0) comes too early"));
  EXPECT_THAT(refused_order(altered_file("[0, 1]", "[0, 1, 1]")), HasSubstr("o.json:/rank_of: 3 stages on 2 ranks"));
  EXPECT_THAT(refused_order(altered_file("[1, 3]", "[1]")), HasSubstr("o.json:/durations/1/forward: 1 durations (2"));
  EXPECT_THAT(refused_order(altered_file("[1, 3]", "[1, -3]")), HasSubstr("/durations/1/forward/1"));
  EXPECT_THAT(refused_order(altered_file("\"micro_batches\"", "\"microbatches\"")), HasSubstr("o.json:/micro"));
  EXPECT_THAT(refused_order(altered_file("\"micro_batches\": 2", "\"micro_batches\": 900000")),
      HasSubstr("8 actions for 2 stages and 900000 micro-batches"));
  EXPECT_THAT(refused_order(R"({"micro_batches": 1, "rank_of": [], "ranks": []})"), HasSubstr("/ranks"));
  EXPECT_THAT(refused_order(altered_file("\"ranks\"", "\"rank\"")), HasSubstr("o.json:/rank"));
}

/// A duration of its own for every pass.
StageTimes uneven_times(const Order& order) {
  StageTimes times;
  const auto passes = static_cast<std::size_t>(order.stages()) * static_cast<std::size_t>(order.units());
  for (std::size_t i = 0; i < passes; ++i) {
    times.forward_each.push_back(1 + 0.125 * static_cast<double>(i));
    times.input_grad_each.push_back(2.1);
    times.weight_grad_each.push_back(1.0 / static_cast<double>(i + 1));
  }
  set_stage_means(order, times);
  return times;
}

void expect_same(const Order& order, const Order& again, const std::string& name) {
  EXPECT_EQ(again.actions, order.actions) << name;
  EXPECT_EQ(again.begin, order.begin) << name;
  EXPECT_EQ(again.rank_of, order.rank_of) << name;
  const auto sizes = [](const Order& o) {
    return std::vector{o.ranks, o.chunks, o.micro_batches, o.slices, o.directions};
  };
  EXPECT_EQ(sizes(again), sizes(order)) << name;
}

TEST(OrderJson, EveryGeneratorAndItsDurationsComeBackAsWritten) {
  std::map<std::string, int> came_back;
  for (const ScheduleKind& kind : schedule_kinds()) {
    for (const int p : {1, 2, 4})
      for (const int m : {1, 4, 8})
        for (const int v : {1, 2}) {
          const auto order = make_order(kind.id, {.ranks = p, .chunks = v, .micro_batches = m, .slices = v});
          const auto plain = order ? order : make_order(kind.id, {.ranks = p, .chunks = v, .micro_batches = m});
          if (!plain) continue;
          const std::string name = fmt::format("{} p={} v={} m={}", kind.id, p, v, m);
          const TimedOrder timed{*plain, uneven_times(*plain)};
          const auto bare = read_order_json(write_order_json(*plain), name);
          const auto full = read_order_json(write_order_json(timed), name);
          ASSERT_TRUE(bare && full) << name;
          expect_same(*plain, bare->timed.order, name);
          expect_same(*plain, full->timed.order, name);
          EXPECT_FALSE(bare->has_durations);
          EXPECT_EQ(full->timed.times.forward_each, timed.times.forward_each) << name;
          EXPECT_EQ(full->timed.times.weight_grad_each, timed.times.weight_grad_each) << name;
          EXPECT_EQ(full->timed.times.weight_grad, timed.times.weight_grad) << name;
          ++came_back[kind.id];
        }
  }
  for (const ScheduleKind& kind : schedule_kinds()) EXPECT_GE(came_back[kind.id], 2) << kind.id;
}

TEST(OrderJson, CopiesHaveDurationsOfTheirOwnAndAStepThatWasMeasured) {
  const std::string text = small_file;
  const std::string durations = text.substr(text.find("\"durations\""), text.rfind('}') - text.find("\"durations\""));
  const std::string twice =
      durations.substr(0, durations.find("[1, 2]")) + "[5, 6]" + durations.substr(durations.find("[1, 2]") + 6);
  const auto with = [&](const std::string& more) {
    return text.substr(0, text.find("\"durations\"")) + "\"copies\": [{" + durations + "}, {" + twice + "}]" + more +
           "}";
  };
  const auto file = read_order_json(with(R"(, "tail": 0.5, "measured": 14, "time_unit": "s")"), "o.json");
  ASSERT_TRUE(file) << to_text(file.error());
  ASSERT_EQ(file->copies.size(), 2U);
  EXPECT_TRUE(file->has_durations);
  EXPECT_TRUE(file->in_seconds);
  EXPECT_EQ(file->timed.times.forward_each, (std::vector<double>{1, 2, 1, 3}));
  EXPECT_EQ(file->copies[1].times.forward_each, (std::vector<double>{5, 6, 1, 3}));
  EXPECT_EQ(file->copies[1].order.actions, file->timed.order.actions);
  EXPECT_EQ(file->tail, 0.5);
  EXPECT_EQ(file->measured, 14);
  const auto result = replay(file->copies);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->slowest, 1);
  EXPECT_THAT(refused_order(with(", \"time_unit\": \"ms\"")), HasSubstr("o.json:/time_unit"));
  EXPECT_THAT(refused_order(with(", \"measured\": 0")), HasSubstr("0 is no step"));
  EXPECT_THAT(refused_order(with(", " + durations)), HasSubstr("o.json:/copies: durations are there too"));
  EXPECT_THAT(
      refused_order(altered_file("\"durations\"", "\"copies\": [], \"durations\"")), HasSubstr("o.json:/copies"));
  EXPECT_THAT(refused_order(with("").replace(with("").rfind("[1, 3]"), 6, "[1]")),
      HasSubstr("o.json:/copies/1/durations/1/forward: 1 durations"));
  EXPECT_THAT(refused_order(text.substr(0, text.find(",\n  \"durations\"")) + ", \"tail\": 1}"),
      HasSubstr("o.json:/tail: there are no durations"));
}

TEST(OrderJson, SecondsComeBackAsSeconds) {
  const Order order = pipelines::order_of("gpipe", {.ranks = 2, .chunks = 1, .micro_batches = 2});
  const TimedOrder timed{order, pipelines::equal_times(2, 1, 2, 3)};
  EXPECT_TRUE(read_order_json(write_order_json(timed, true), "o.json")->in_seconds);
  EXPECT_FALSE(read_order_json(write_order_json(timed), "o.json")->in_seconds);
}

TEST(OrderJson, MeansStandForUnitsWithoutDurationsOfTheirOwn) {
  const Order order = pipelines::order_of("1f1b", {.ranks = 2, .chunks = 1, .micro_batches = 3});
  const auto file = read_order_json(write_order_json(TimedOrder{order, pipelines::equal_times(2, 1, 2, 3)}), "o.json");
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(file->timed.times.input_grad_each, std::vector<double>(6, 2.0));
}

}  // namespace
}  // namespace stepcast::sim::order_json_test
