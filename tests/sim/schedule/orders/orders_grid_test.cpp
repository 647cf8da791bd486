// Every generator over a grid of sizes, and the advice that refusals give.
#include <map>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"
#include "tests/trials.h"

namespace stepcast::sim::orders_grid_test {
namespace {

using testing::HasSubstr;

std::vector<ScheduleSize> grid_sizes() {
  std::vector<ScheduleSize> sizes;
  for (int p = 1; p <= 7; ++p)
    for (int v = 1; v <= 3; ++v)
      for (int m = 1; m <= 18; ++m)
        for (const int group : {0, p, p + 1})
          for (int n = 1; n <= 3; ++n) sizes.push_back({p, v, m, group, n});
  return sizes;
}

std::string size_text(const ScheduleKind& kind, const ScheduleSize& s) {
  return fmt::format("{} p={} v={} m={} g={} n={}", kind.id, s.ranks, s.chunks, s.micro_batches, s.group, s.slices);
}

std::size_t passes_of(const Order& order) {
  return static_cast<std::size_t>(order.stages()) * static_cast<std::size_t>(order.units() / order.directions);
}

TEST(OrdersGrid, EveryOrderIsAWholeStepThatRuns) {
  std::map<std::string, int> checked;
  EngineWorkspace workspace;
  Timeline timeline;
  for (const ScheduleKind& kind : schedule_kinds()) {
    for (const ScheduleSize& size : grid_sizes()) {
      const auto order = make_order(kind.id, size);
      if (!order) continue;
      const auto ok = check_order(*order);
      ASSERT_TRUE(ok) << size_text(kind, size) << ": " << to_text(ok.error());
      ASSERT_EQ(order->chunks, chunks_of(kind, size) * kind.directions);
      const std::size_t passes = passes_of(*order);
      ASSERT_TRUE(kind.splits_backward || order->actions.size() == 2 * passes) << size_text(kind, size);
      const auto ran = run(*order, pipelines::equal_times(order->stages(), 1, 1, 1, 0.25), timeline, workspace);
      ASSERT_TRUE(ran) << size_text(kind, size) << ": " << to_text(ran.error());
      ++checked[kind.id];
    }
  }
  for (const ScheduleKind& kind : schedule_kinds()) EXPECT_GE(checked[kind.id], 15) << kind.id;
}

/// Leaves the group out, or writes the first "field number" of a hint into a size, or both; false if it says neither.
bool follow(const Error& error, ScheduleSize& size) {
  const std::string& hint = error.hint;
  const bool left_out = error.where == "group" && hint.starts_with("leave it out");
  if (left_out) size.group = 0;
  static const std::regex advice("(ranks|chunks|micro-batches|group|slices) ([0-9]+)");
  std::smatch found;
  if (!std::regex_search(hint, found, advice)) return left_out;
  const std::map<std::string, int*> fields = {{"ranks", &size.ranks}, {"chunks", &size.chunks},
      {"micro-batches", &size.micro_batches}, {"group", &size.group}, {"slices", &size.slices}};
  *fields.at(found[1]) = std::stoi(found[2]);
  return true;
}

/// Where the hint says "a or b", the second number is legal too.
bool follow_second(const std::string& hint, ScheduleSize& size) {
  static const std::regex advice("(ranks|micro-batches) [0-9]+ or ([0-9]+)");
  std::smatch found;
  if (!std::regex_search(hint, found, advice)) return false;
  (found[1] == "ranks" ? size.ranks : size.micro_batches) = std::stoi(found[2]);
  return true;
}

TEST(OrdersGrid, RefusalsNameValuesThatAreLegal) {
  int refused = 0, seconds = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    const std::vector<ScheduleSize> grid = grid_sizes();
    for (std::size_t i = 0; i < grid.size(); i += sanitized ? 5 : 1) {
      const ScheduleSize& asked = grid[i];
      ScheduleSize size = asked;
      auto ok = check_size(kind, size);
      for (int step = 0; !ok && step < 5; ++step) {
        const Error error = ok.error();
        ScheduleSize other = size;
        ASSERT_TRUE(follow(error, size)) << size_text(kind, asked) << ": " << to_text(error);
        ok = check_size(kind, size);
        ASSERT_TRUE(ok || ok.error().where != error.where) << size_text(kind, asked) << ": " << to_text(error);
        if (follow_second(error.hint, other)) {
          const auto second = check_size(kind, other);
          ASSERT_TRUE(second || second.error().where != error.where) << size_text(kind, asked) << to_text(error);
          ++seconds;
        }
        ++refused;
      }
      ASSERT_TRUE(ok) << size_text(kind, asked);
    }
  }
  EXPECT_GT(refused, trials(5000));
  EXPECT_GT(seconds, trials(500));
}

std::string refusal(const std::string& id, const ScheduleSize& size) {
  const auto order = make_order(id, size);
  return order ? "" : to_text(order.error());
}

TEST(OrdersGrid, RefusalsByKind) {
  EXPECT_THAT(refusal("dualpipe", {.ranks = 3, .micro_batches = 6}), HasSubstr("ranks 2 or 4"));
  EXPECT_THAT(refusal("dualpipe", {.ranks = 4, .micro_batches = 6}), HasSubstr("micro-batches 8 or more, an even"));
  EXPECT_THAT(refusal("dualpipe", {.ranks = 4, .micro_batches = 9}), HasSubstr("micro-batches 8 or 10"));
  EXPECT_THAT(refusal("dualpipev", {.ranks = 4, .micro_batches = 7}), HasSubstr("micro-batches 8 or more"));
  EXPECT_THAT(refusal("chimera", {.ranks = 4, .micro_batches = 1}), HasSubstr("micro-batches 2"));
  EXPECT_THAT(refusal("zb-v", {.ranks = 4, .chunks = 3, .micro_batches = 8}), HasSubstr("chunks 2"));
  EXPECT_THAT(refusal("gis", {.ranks = 8, .chunks = 2, .micro_batches = 8, .group = 3}), HasSubstr("group 4 to 8"));
  EXPECT_THAT(refusal("interleaved-flex", {.ranks = 2, .chunks = 2, .micro_batches = 5}), HasSubstr("4 or 6"));
  EXPECT_THAT(refusal("1f1b", {.ranks = 2, .micro_batches = 5, .slices = 2}), HasSubstr("seq-1f1b or terapipe"));
  EXPECT_THAT(refusal("seq-1f1b", {.ranks = 2, .micro_batches = 5, .slices = 0}), HasSubstr("slices 1 or more"));
  EXPECT_EQ(refusal("zb-v", {.ranks = 4, .chunks = 2, .micro_batches = 8}), "");
}

TEST(OrdersGrid, ChunksOfAKind) {
  EXPECT_EQ(chunks_of(*find_schedule("zb-v").value(), {.ranks = 4}), 2);
  EXPECT_EQ(chunks_of(*find_schedule("dualpipe").value(), {.ranks = 4}), 1);
  EXPECT_EQ(chunks_of(*find_schedule("looped-bfs").value(), {.ranks = 4, .chunks = 3}), 3);
}

}  // namespace
}  // namespace stepcast::sim::orders_grid_test
