// A sweep that prunes finds what one finds that forecasts every point: the same list, the same front, figure by figure.
#include "studies/sweep/search/run.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"
#include "studies/run/forecast.h"
#include "tests/trials.h"

namespace stepcast::sweep {
namespace {

using testing_sweep::small_spaces;
using testing_sweep::SmallSpace;

Space space_named(std::string_view name) {
  for (const SmallSpace& space : small_spaces)
    if (name == space.name) return testing_space::good(space.line);
  ADD_FAILURE() << name;
  return {};
}

SweptSpace swept(const Space& space, const SweepOptions& options = {}, const Shard& shard = {},
    const SweepResult* earlier = nullptr) {
  auto result = run_sweep(space, shard, options, earlier);
  if (result) return std::move(*result);
  ADD_FAILURE() << to_text(result.error());
  return {};
}

SweptSpace exhaustively(const Space& space) {
  SweepOptions options;
  options.exhaustive = true;
  return swept(space, options);
}

/// "" or the first difference.
std::string difference(const std::vector<SweepRow>& a, const std::vector<SweepRow>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].index != b[i].index) return fmt::format("place {}: point {} and {}", i + 1, a[i].index, b[i].index);
    if (a[i].choices != b[i].choices) return fmt::format("place {}: choices", i + 1);
    for (std::size_t f = 0; f < figure_count; ++f)
      if (std::bit_cast<std::uint64_t>(a[i].figures[f]) != std::bit_cast<std::uint64_t>(b[i].figures[f]))
        return fmt::format("place {}, {}: {} and {}", i + 1, figure_rows()[f].name, a[i].figures[f], b[i].figures[f]);
  }
  return a.size() == b.size() ? "" : fmt::format("{} rows and {}", a.size(), b.size());
}

void expect_equal_tallies(const SweepTally& a, const SweepTally& b) {
  EXPECT_EQ(a.enumerated, b.enumerated);
  EXPECT_EQ(a.does_not_fit, b.does_not_fit);
  EXPECT_EQ(a.excluded, b.excluded);
  EXPECT_EQ(a.illegal, b.illegal);
  EXPECT_EQ(a.smallest_overflow_bytes, b.smallest_overflow_bytes);
  EXPECT_EQ(a.smallest_overflow_index, b.smallest_overflow_index);
}

class SmallSweep : public testing::TestWithParam<SmallSpace> {};

TEST_P(SmallSweep, PruningLosesNothing) {
  Space space = testing_space::good(GetParam().line);
  space.top = 100;
  const SweptSpace pruned = swept(space), all = exhaustively(space);
  EXPECT_EQ(difference(pruned.result.top, all.result.top), "");
  EXPECT_EQ(difference(pruned.result.pareto, all.result.pareto), "");
  expect_equal_tallies(pruned.result.tally, all.result.tally);
  EXPECT_EQ(pruned.work.above, 0U);
  EXPECT_EQ(all.work.above, 0U);
  EXPECT_EQ(pruned.work.priced, all.work.priced);
  EXPECT_EQ(pruned.work.priced, pruned.work.pruned + pruned.work.refined);
  EXPECT_EQ(pruned.result.tally.fitting(), pruned.work.priced + pruned.result.tally.excluded);
  EXPECT_EQ(all.result.top.size(), std::min<std::uint64_t>(100, all.work.refined - all.work.excluded_late));
  EXPECT_FALSE(all.result.top.empty());
}
INSTANTIATE_TEST_SUITE_P(Of, SmallSweep, testing::ValuesIn(testing_sweep::tried_spaces()),
    [](const auto& tested) { return std::string(tested.param.name); });

/// Spaces of one class: an axis has some of its values.
struct SpaceClass {
  const char *name, *job;
  std::vector<std::pair<const char*, std::vector<std::string>>> axes;
};

std::string random_line(const SpaceClass& of, std::mt19937_64& random) {
  std::string line = of.job;
  for (const auto& [flag, values] : of.axes) {
    std::vector<std::string> some;
    std::ranges::sample(values, std::back_inserter(some), 1 + static_cast<std::ptrdiff_t>(random() % 3), random);
    line += fmt::format(" {} {}", flag, fmt::join(some, ","));
  }
  return line;
}

TEST(Sweep, PruningLosesNothingInRandomSpacesOfEachClass) {
  const std::vector<std::string> ways = {"1", "2", "4"}, sizes = {"1", "2", "3", "4"}, recompute = {"none", "full"},
                                 every_zero = {"0", "1", "2", "3"};
  const SpaceClass classes[] = {
      {"dense", "llama2-7b --machine dgx-h100 --gpus 16 --global-batch 48 --seq 4096",
          {{"--tp", ways}, {"--pp", {"1", "2", "4", "8"}}, {"--order", {"tp-cp-dp-pp", "tp-cp-pp-dp", "dp-tp-cp-pp"}},
              {"--recompute", {"none", "selective", "full", "full:1"}}, {"--micro-batch", sizes}, {"--chunks", ways},
              {"--zero", {"0", "1"}}}},
      {"weights and gradients in shards", "llama2-7b --machine dgx-h100 --gpus 16 --global-batch 48 --seq 4096",
          {{"--tp", ways}, {"--cp", {"1", "2"}}, {"--pp", {"1", "2", "4"}}, {"--recompute", recompute},
              {"--micro-batch", sizes}, {"--chunks", {"1", "2"}}, {"--order", {"tp-cp-dp-pp", "tp-cp-pp-dp"}},
              {"--zero", {"2", "3"}}, {"--dp-replicate", {"1", "2"}}, {"--dp-overlap", {"off", "on"}}}},
      {"experts", "deepseek-v2-lite --machine hgx-h800 --gpus 32 --global-batch 96 --seq 4096",
          {{"--tp", {"1", "2"}}, {"--pp", {"1", "3", "9"}}, {"--ep", {"1", "2", "4", "8"}}, {"--recompute", recompute},
              {"--micro-batch", sizes}, {"--precision", {"bf16", "fp8"}}, {"--zero", {"0", "1", "2"}}}},
      {"experts whose rows are no whole numbers",
          "deepseek-v2-lite --machine hgx-h800 --gpus 32 --global-batch 96 --seq 4090",
          {{"--tp", {"1", "2"}}, {"--pp", {"1", "3"}}, {"--ep", {"2", "8"}}, {"--micro-batch", sizes},
              {"--recompute", recompute}}},
      {"V kinds and balanced layers", "deepseek-v2-lite --machine hgx-h800 --gpus 32 --global-batch 96 --seq 4096",
          {{"--tp", {"1", "2"}}, {"--pp", {"2", "4", "8"}}, {"--ep", {"2", "4"}}, {"--recompute", recompute},
              {"--micro-batch", sizes}, {"--schedule", {"auto", "zb-h1", "zb-v", "v-half", "dualpipev"}},
              {"--layout", {"balanced"}}}},
      {"two copies", "llama2-13b --machine dgx-h100 --gpus 16 --global-batch 32 --seq 4096",
          {{"--tp", ways}, {"--pp", {"2", "4"}}, {"--recompute", recompute}, {"--micro-batch", sizes},
              {"--schedule", {"dualpipe", "chimera", "1f1b"}}}},
      {"slices", "llama2-13b --machine dgx-h100 --gpus 16 --global-batch 32 --seq 4096 --seq-splits 2",
          {{"--tp", ways}, {"--pp", {"2", "4"}}, {"--recompute", recompute}, {"--micro-batch", sizes},
              {"--schedule", {"seq-1f1b", "terapipe"}}}},
      {"hybrids", "nemotron-h-8b --machine dgx-h100 --gpus 16 --global-batch 48 --seq 4096",
          {{"--tp", ways}, {"--pp", {"1", "2", "4"}}, {"--recompute", {"none", "full", "full:2"}},
              {"--micro-batch", sizes}, {"--chunks", {"1", "2"}}, {"--zero", every_zero}}},
      {"hybrids with experts", "kimi-linear-48b-a3b --machine dgx-h100 --gpus 64 --global-batch 192 --seq 4096",
          {{"--tp", {"2", "4", "8"}}, {"--pp", {"1", "3", "4"}}, {"--ep", {"8", "16", "32"}},
              {"--recompute", recompute}, {"--micro-batch", sizes}, {"--layout", {"balanced"}},
              {"--zero", every_zero}}},
      {"images", "llama3.2-11b-vision --machine dgx-h100 --gpus 48 --global-batch 96 --seq 4096 --images 1 --pp 1",
          {{"--tp", ways}, {"--recompute", recompute}, {"--micro-batch", {"1", "2", "4", "8"}}, {"--zero", every_zero},
              {"--dp-overlap", {"off", "on"}}}},
      {"adapters", "llama3-8b --machine dgx-h100 --gpus 24 --global-batch 96 --seq 4096 --lora 16",
          {{"--tp", ways}, {"--pp", {"1", "2", "3"}}, {"--layout", {"balanced"}}, {"--recompute", recompute},
              {"--micro-batch", sizes}, {"--zero", every_zero}}},
  };
  std::mt19937_64 random(30);
  for (const SpaceClass& of : classes) {
    std::size_t listed = 0;
    for (int trial = 0; trial < trials(4); ++trial) {
      const std::string line = random_line(of, random);
      SCOPED_TRACE(line);
      Space space = testing_space::good(line);
      space.top = 20;
      const SweptSpace pruned = swept(space), all = exhaustively(space);
      EXPECT_EQ(difference(pruned.result.top, all.result.top), "");
      expect_equal_tallies(pruned.result.tally, all.result.tally);
      EXPECT_EQ(pruned.work.above + all.work.above, 0U);
      listed += all.result.top.size();
    }
    EXPECT_TRUE(sanitized || listed > 0) << of.name;
  }
}

/// Figures that a bound is known for and figures that none is known for, as objectives and in fronts of one to four.
TEST(Sweep, PruningLosesNothingWhateverTheGoal) {
  struct Goal {
    const char* objective;
    std::vector<std::string> front;
  };
  const Goal goals[] = {{"step_time", {"step_time"}}, {"tokens_per_s_per_gpu", {"memory.peak", "energy"}},
      {"cost", {"cost", "memory.activations"}}, {"energy", {"tokens_per_s_per_gpu", "memory_headroom", "p10"}},
      {"memory.peak", {"step_time", "memory.peak", "energy", "micro_batches"}}, {"memory_headroom", {"cost"}},
      {"mfu", {}}, {"p90", {"bubble", "step_time"}}};
  Space space = space_named("Llama7bOnOneNode");
  space.top = 20;
  space.price_per_gpu_hour = 2.5;
  for (const auto& [objective, front] : goals) {
    space.objective = objective;
    space.pareto = front;
    const SweptSpace pruned = swept(space), all = exhaustively(space);
    EXPECT_EQ(difference(pruned.result.top, all.result.top), "") << objective;
    EXPECT_EQ(difference(pruned.result.pareto, all.result.pareto), "") << objective;
    EXPECT_EQ(pruned.result.pareto.empty(), front.empty()) << objective;
  }
}

/// The list of the space without the constraint, filtered, is the list with it.
TEST(Sweep, ConstraintsFilterAndNothingElse) {
  for (const char* name : {"Llama7bOnOneNode", "TwoCopies"}) {
    if (sanitized && name == std::string_view("Llama7bOnOneNode")) continue;
    Space space = space_named(name);
    space.top = 100'000;
    const SweptSpace all = exhaustively(space);
    ASSERT_GT(all.result.top.size(), 100U);
    const double typical =
        all.result.top[all.result.top.size() / 3].figures[static_cast<std::size_t>(Figure::step_time)];
    const std::vector<std::string> constraints = {"tp <= 2 and pp >= 2", "memory.peak < 50 GiB",
        "memory_headroom > 10 GiB and recompute != full", fmt::format("step_time > {} s", typical),
        fmt::format("mfu > 20 % or memory.peak < 30 GiB or (pp == 2 and step_time < {} s)", typical),
        "not (zero == 0) and bubble < 20 %", "tp > 4096"};
    std::vector<WordAxis> axes;
    for (const AxisRow& row : axis_rows())
      axes.push_back({std::string(row.key), space.values[static_cast<std::size_t>(row.id)]});
    for (const std::string& text : constraints) {
      const Where where = Where::read(text, "--where", axes).value();
      std::vector<SweepRow> met;
      for (const SweepRow& row : all.result.top) {
        const std::vector<std::string_view> choices(row.choices.begin(), row.choices.end());
        if (where.ask(row.figures, FigureNeeds::forecast, choices) == Where::Answer::yes) met.push_back(row);
      }
      Space constrained = space;
      constrained.where = text;
      constrained.top = 30;
      const SweptSpace listed = swept(constrained), listed_all = exhaustively(constrained);
      EXPECT_EQ(listed_all.work.refined - listed_all.work.excluded_late, met.size()) << text;
      EXPECT_EQ(listed_all.result.tally.fitting(), listed_all.result.tally.excluded + listed_all.work.refined) << text;
      met.resize(std::min<std::size_t>(met.size(), 30));
      EXPECT_EQ(difference(listed.result.top, met), "") << name << ": " << text;
      expect_equal_tallies(listed.result.tally, listed_all.result.tally);
    }
  }
}

/// Of many stretches.
std::vector<Space> long_spaces() {
  std::vector<Space> spaces = {space_named("TinyCounts")};
  spaces.back().pareto = {"step_time", "memory.peak"};
  spaces.push_back(testing_space::good(
      "gpt3-13b --machine dgx-a100 --stack megatron-2022 --gpus 64 --global-batch 64 --seq 2048 --tp all --pp all "
      "--order tp-cp-dp-pp,dp-tp-cp-pp,pp-dp-tp-cp,pp-tp-cp-dp --sp off,on "
      "--recompute none,full --micro-batch 1,2,4 --chunks 1,2,4,5,8,10 --zero 0,1 --where pp>=4 --pareto "
      "step_time,mfu"));
  if (sanitized) spaces.pop_back();
  return spaces;
}

TEST(Sweep, ThreadsChangeNoByte) {
  for (const Space& space : long_spaces()) {
    SweepOptions two;
    two.threads = 2;
    const SweptSpace one = swept(space);
    EXPECT_GT(one.result.top.size() + one.result.tally.does_not_fit, 5U);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(write_result(swept(space, two).result), write_result(one.result));
  }
}

TEST(Sweep, ShardsMergeToTheSameBytes) {
  for (const Space& space : long_spaces()) {
    const std::string whole = write_result(swept(space).result);
    for (const std::uint64_t count : {1, 3, 7}) {
      std::vector<NamedResult> parts;
      for (std::uint64_t i = 0; i < count; ++i)
        parts.push_back({fmt::format("{}", i), swept(space, {}, {i, count}).result});
      std::reverse(parts.begin(), parts.end());
      const auto merged = merge_results(std::move(parts));
      ASSERT_TRUE(merged) << to_text(merged.error());
      EXPECT_EQ(write_result(*merged), whole) << count;
    }
  }
}

/// Stopped again and again wherever it may be, and gone on with from what was written. Gives how many runs it took.
int run_in_parts(const Space& space, int threads, std::mt19937& random, SweepResult& so_far) {
  for (int runs = 1; runs < 300; ++runs) {
    std::atomic<int> left = 1 << random() % 11;
    SweepOptions options;
    options.threads = threads;
    options.stop = [&] { return left-- <= 0; };
    options.snapshot = [&](const SweepResult& result, const SweepWork&) -> Expected<void> {
      so_far = read_result(write_result(result), "snapshot").value();
      return {};
    };
    const SweepResult before = so_far;
    swept(space, options, {}, runs > 1 ? &before : nullptr);
    if (so_far.complete()) return runs;
  }
  ADD_FAILURE() << "never got through";
  return 0;
}

TEST(Sweep, ResumedRunsEndInTheSameBytes) {
  std::mt19937 random(1);
  int runs = 0;
  for (const Space& space : long_spaces()) {
    EXPECT_GT(space.size(), 5U * 4096);
    const std::string whole = write_result(swept(space).result);
    for (int trial = 0; trial < 4; ++trial) {
      SweepResult so_far;
      runs += run_in_parts(space, 1 + trial % 2, random, so_far);
      EXPECT_EQ(write_result(so_far), whole) << trial;
    }
  }
  EXPECT_GT(runs, sanitized ? 4 : 24) << "hardly ever stopped";
}

TEST(Sweep, ASnapshotsErrorEndsIt) {
  SweepOptions options;
  options.snapshot = [](const SweepResult&, const SweepWork&) -> Expected<void> {
    return fail("out", "disk full", "make room");
  };
  const auto outcome = run_sweep(space_named("TinyCounts"), {}, options);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().what, "disk full");
}

/// Of words that an axis may have, whether the space has them or not; errors say where the constraint stood.
TEST(SweepConstraint, TakesEveryLegalWord) {
  Space space = space_named("TwoCopies");
  for (const char* good : {"schedule != gpipe", "recompute != full:3", "precision != nvfp4", "layout != balanced",
           "sp == auto", "order == tp-cp-dp-pp"}) {
    space.where = good;
    EXPECT_TRUE(where_of(space).has_value()) << good << ": " << to_text(where_of(space).error());
  }
  space.where = "tp_tier == cluster";
  EXPECT_FALSE(where_of(space).has_value()) << "tiers that nobody chose are not known";
  space.tiers = true;
  EXPECT_TRUE(where_of(space).has_value());
  space.where_origin = "space.json:/where";
  for (const char* wrong :
      {"schedule != gpip", "recompute != ful", "precision == bf17", "tp_tier == nodes", "sp == yes"}) {
    space.where = wrong;
    ASSERT_FALSE(where_of(space).has_value()) << wrong;
    EXPECT_TRUE(to_text(where_of(space).error()).starts_with("space.json:/where, column "))
        << to_text(where_of(space).error());
  }
  space.where = "cost < 3 and tp > 1";
  EXPECT_FALSE(where_of(space).has_value());
  space.price_per_gpu_hour = 2;
  EXPECT_TRUE(where_of(space).has_value());
}

}  // namespace
}  // namespace stepcast::sweep
