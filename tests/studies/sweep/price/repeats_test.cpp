// A point that is called a repeat has an earlier one with the same forecast.
#include "studies/sweep/price/repeats.h"

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"
#include "studies/sweep/price/legality.h"

namespace stepcast::sweep {
namespace {

using testing_sweep::small_spaces;
using testing_sweep::SmallSpace;

// clang-format off
struct RepeatRule { const char* name; bool (*repeats)(const SpacePoints&, const Digits&); std::vector<AxisId> axes; };
// clang-format on

const std::vector<RepeatRule>& repeat_rules() {
  using enum AxisId;
  static const std::vector<RepeatRule> rules = {{"cp kind", repeats_context_kind, {cp_kind}},
      {"order", repeats_order, {order}}, {"tiers", repeats_tier, {tp_tier, pp_tier, dp_tier}},
      {"sp", repeats_sequence_split, {sp}}, {"scatter", repeats_scatter, {scatter_boundary}},
      {"gathers", repeats_kept_gathers, {save_gathered}}, {"tp overlap", repeats_tensor_overlap, {tp_overlap}},
      {"chunks", repeats_chunks, {chunks, schedule}}, {"schedule", repeats_schedule, {schedule, chunks}},
      {"layout", repeats_layout, {layout}}, {"zero", repeats_zero, {zero}}, {"copies", repeats_replicas, {replicas}},
      {"dp overlap", repeats_data_overlap, {dp_overlap}}};
  return rules;
}

/// Figures of a point, or nothing where it cannot run.
using Told = std::optional<std::pair<double, double>>;
Told told(SpacePoints& points, const Digits& digits) {
  const auto split = points.split(digits);
  if (!split || broken_rule(*split, points.wishes(digits).size(), points.network()) != nullptr) return std::nullopt;
  const auto prediction = points.predict(digits);
  if (!prediction) return std::nullopt;
  return std::pair(prediction->step.step_time.value(), prediction->step.memory.peak.value());
}

bool about(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

/// On one stage chunks, schedule and layout are said for nothing; the forecast still cuts gathers and gradients by
/// chunks.
bool stands_for(const Told& earlier, const Told& mine, bool one_stage) {
  if (!earlier) return false;
  const auto& [step, memory] = *earlier;
  if (one_stage) return step <= mine->first * 1.01 && memory <= mine->second * 1.01;
  return about(step, mine->first) && about(memory, mine->second);
}

/// Is there a point that differs on `axes` only, comes earlier and is told the same?
bool has_earlier_twin(SpacePoints& points, const Digits& digits, const std::vector<AxisId>& axes, const Told& mine) {
  const Space& space = points.space();
  const bool one_stage = points.wishes(digits).pp == 1;
  std::uint64_t count = 1;
  for (const AxisId axis : axes) count *= space.values[static_cast<std::size_t>(axis)].size();
  for (std::uint64_t number = 0; number < count; ++number) {
    Digits earlier = digits;
    std::uint64_t rest = number;
    for (const AxisId axis : axes) {
      const std::uint64_t values = space.values[static_cast<std::size_t>(axis)].size();
      earlier[static_cast<std::size_t>(axis)] = static_cast<std::uint16_t>(rest % values);
      rest /= values;
    }
    if (space.index(earlier) < space.index(digits) && stands_for(told(points, earlier), mine, one_stage)) return true;
  }
  return false;
}

const char* const more_spaces[] = {
    "gpt3-13b --machine dgx-a100 --stack megatron-2022 --gpus 16,8 --global-batch 16 --seq 2048 --tp 1,2,8 --cp 1,2 "
    "--cp-kind all --pp 1,2,4 --order all "
    "--sp all --scatter-boundary auto,on,off --save-gathered all --tp-overlap auto,on,off --recompute none,full "
    "--micro-batch 1 --chunks 1,2,4 "
    "--schedule auto,zb-v,gpipe,interleaved-1f1b --layout even,balanced --zero 1,0,2,3 --dp-overlap off,auto,on",
    "llama3.2-1b --machine dgx-h100 --stack pytorch-fsdp --gpus 1,4,8 --global-batch 16 --seq 8192 --tp 1,2,4 --cp 1,2 "
    "--cp-kind ulysses,ring --pp 1,2 "
    "--order all --sp on,off,auto --scatter-boundary on,off --save-gathered on,off --tp-overlap on,off --recompute "
    "full,none --micro-batch 1,2 --chunks 4,2,1 "
    "--schedule gpipe,zb-v,auto,1f1b,zb-h1,looped-bfs --zero 3,0,1,2 --dp-replicate 1,2,4 --dp-overlap on,off",
    "mixtral-8x7b --machine dgx-h100 --gpus 8,16 --global-batch 16 --seq 4096 --tp 1,2,4 --pp 1,2 --ep 1,2,4 --etp 1,2 "
    "--order all --sp all --tp-overlap all "
    "--save-gathered all --scatter-boundary all --recompute none,full --micro-batch 1 --chunks 1,2 --zero 0,1,3 "
    "--dp-replicate 2,1,4 --dp-overlap all"};

TEST(Repeats, AreToldWhatAnEarlierPointIs) {
  std::mt19937_64 random(8);
  std::map<std::string, int> seen;
  for (const char* line : more_spaces) {
    const Space space = testing_space::good(line);
    SpacePoints points = SpacePoints::make(space).value();
    for (const RepeatRule& rule : repeat_rules()) {
      int checked = 0;
      for (int trial = 0; trial < 20'000 && checked < 25; ++trial) {
        const Digits digits = space.digits(random() % space.size());
        if (!rule.repeats(points, digits)) continue;
        const Told mine = told(points, digits);
        if (!mine) continue;
        EXPECT_TRUE(has_earlier_twin(points, digits, rule.axes, mine)) << rule.name << ": " << points.command(digits);
        ++checked;
      }
      seen[rule.name] += checked;
    }
  }
  for (const RepeatRule& rule : repeat_rules())
    if (std::string(rule.name) != "tiers") {
      EXPECT_GT(seen[rule.name], 10) << rule.name;
    }
}

/// What cannot run stands for nothing: one stage stays reachable. gpipe holds all micro-batches there, too.
TEST(Repeats, OneStageIsKeptWhereTheFirstScheduleCannotRunIt) {
  for (const auto& [schedules, kept] :
      {std::pair{"dualpipe,1f1b,zb-h1", 1}, {"dualpipe,1f1b,gpipe", 2}, {"gpipe,1f1b", 2}, {"interleaved-1f1b", 1}}) {
    const Space space = testing_space::good(
        std::string("llama3-8b --machine dgx-h100 --gpus 8 --global-batch 8 --seq 8192 --tp 8 --pp 1 --micro-batch 1 "
                    "--recompute full --chunks 1,2,4 --schedule ") +
        schedules);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    int legal = 0;
    for (std::uint64_t index = 0; index < space.size(); ++index)
      legal += legality.ask(space.digits(index), AxisId{}).reason < 0;
    EXPECT_EQ(legal, kept) << schedules;
  }
}

TEST(Repeats, TiersOfOneOrder) {
  std::mt19937_64 random(9);
  const Space space = testing_space::good(testing_space::file_with(
      R"({"network": "gpt3-13b", "machine": "dgx-a100", "stack": "megatron-2022", "gpus": 16, "global_batch": 16, "sequence": 2048,
          "axes": {"tp": [1, 2, 8], "pp": [1, 2, 4], "tp_tier": ["cluster", "node"], "pp_tier": ["node", "cluster"], "dp_tier": ["node", "cluster"],
                   "recompute": "none", "micro_batch": 1, "chunks": 1}})"));
  ASSERT_TRUE(space.tiers);
  SpacePoints points = SpacePoints::make(space).value();
  int repeats = 0, firsts = 0;
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Digits digits = space.digits(index);
    const Told mine = told(points, digits);
    if (!mine) continue;
    const bool repeats_here = repeats_tier(points, digits);
    ++(repeats_here ? repeats : firsts);
    if (repeats_here) {
      EXPECT_TRUE(has_earlier_twin(points, digits, {AxisId::tp_tier, AxisId::pp_tier, AxisId::dp_tier}, mine))
          << points.command(digits);
    }
  }
  EXPECT_GT(repeats, 20);
  EXPECT_GT(firsts, 10);
}

}  // namespace
}  // namespace stepcast::sweep
