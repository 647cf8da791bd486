// The study files of examples/spaces.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/scenario.h"
#include "studies/run/forecast.h"
#include "tests/studies/sweep/space/space_of.h"

namespace stepcast::sweep {
namespace {

using testing_space::good;
using testing_space::shipped;

// clang-format off
// Calculon's search (calculon-ai/calculon, calculon/llm/optimal_execution.py and Llm.get_* in llm.py) in its own terms:
// the loops of its two functions, with nothing but counts inside. `divided`: batches that the data-parallel ranks do
// not divide are left out.
struct CalculonSearch { std::int64_t gpus, batch; int tensor_overlaps = 1, data_overlaps = 1; bool divided = false; };
// clang-format on
std::int64_t calculon_count(const CalculonSearch& s) {
  constexpr std::int64_t layers = 96, hidden = 12'288, heads = 96, sequence = 2048, networks = 2;
  std::int64_t count = 0;
  for (std::int64_t tp = 1; tp <= s.gpus; ++tp) {
    if (s.gpus % tp != 0 || hidden % tp != 0 || heads % tp != 0) continue;
    const std::int64_t most_pp = std::min(s.gpus / tp, layers);
    for (std::int64_t pp = 1; pp <= most_pp; ++pp) {
      if (most_pp % pp != 0 || s.gpus % (tp * pp) != 0 || layers % pp != 0) continue;
      const std::int64_t dp = s.gpus / (tp * pp);
      if (dp > s.batch || (s.divided && s.batch % dp != 0)) continue;
      const std::int64_t per_rank = s.batch / dp;  // of the batch cut down to a multiple of dp
      std::int64_t micro_batches = 0, interleavings = 0;
      for (std::int64_t m = 1; m <= per_rank; ++m) micro_batches += per_rank % m == 0 && m * sequence % tp == 0;
      for (std::int64_t v = 1; v <= layers / pp; ++v) interleavings += pp == 1 ? v == 1 : layers / pp % v == 0;
      // recompute x (ar, p2p_rs_ag, rs_ag); rs_ag without full: gathers redone or not
      const std::int64_t communication = 3 * 3 + 2;
      const std::int64_t tiers = (tp > 1 ? networks : 1) * (pp > 1 ? networks : 1) * (dp > 1 ? networks : 1);
      const std::int64_t of_dp = dp > 1 ? 2 * s.data_overlaps : 1, of_tp = tp > 1 ? s.tensor_overlaps : 1;
      count += micro_batches * interleavings * communication * tiers * of_dp * of_tp;
    }
  }
  return count;
}

/// The same conditions on the digits of a space. An axis that Calculon does not vary somewhere stands at its first
/// value.
class CalculonWalk {
 public:
  explicit CalculonWalk(Space space) : space_(std::move(space)) {}

  std::int64_t count() {
    std::int64_t found = 0;
    for (std::uint64_t index = 0; index < space_.size();) {
      digits_ = space_.digits(index);
      const std::uint64_t stretch = fails();
      if (stretch == 0) ++found;
      index = stretch == 0 ? index + 1 : (index / stretch + 1) * stretch;
    }
    return found;
  }

 private:
  using enum AxisId;
  /// How far the outermost broken condition reaches; 0: all hold.
  std::uint64_t fails() const {
    const std::int64_t n = number(gpus), t = number(tp), p = number(pp), most_pp = std::min<std::int64_t>(n / t, 96);
    if (n % t != 0 || 12'288 % t != 0 || 96 % t != 0) return space_.stride(tp);
    if (most_pp % p != 0 || n % (t * p) != 0 || 96 % p != 0) return space_.stride(pp);
    const std::int64_t dp = n / (t * p);
    if (space_.global_batch % dp != 0) return space_.stride(pp);
    if (t == 1 && varied(tp_tier)) return space_.stride(tp_tier);
    if (p == 1 && varied(pp_tier)) return space_.stride(pp_tier);
    if (dp == 1 && varied(dp_tier)) return space_.stride(dp_tier);
    const bool sequence_split = value(sp) == "on";
    if (sequence_split && varied(scatter_boundary)) return space_.stride(scatter_boundary);
    if (!sequence_split && varied(save_gathered)) return space_.stride(save_gathered);
    if (t == 1 && varied(tp_overlap)) return space_.stride(tp_overlap);
    if (value(recompute) == "full" && varied(save_gathered)) return space_.stride(recompute);
    const std::int64_t m = number(micro_batch);
    if (space_.global_batch / dp % m != 0 || m * space_.sequence % t != 0) return space_.stride(micro_batch);
    if (p == 1 ? number(chunks) != 1 : 96 / p % number(chunks) != 0) return space_.stride(chunks);
    if (dp == 1 && varied(zero)) return space_.stride(zero);
    if (dp == 1 && varied(dp_overlap)) return space_.stride(dp_overlap);
    return 0;
  }
  std::int64_t number(AxisId axis) const { return space_.number(digits_, axis); }
  const std::string& value(AxisId axis) const { return space_.value(digits_, axis); }
  bool varied(AxisId axis) const { return digits_[static_cast<std::size_t>(axis)] != 0; }

  Space space_;
  Digits digits_{};
};

// The first two are what its program prints ("Total executions") with --no-tp-overlap and --no-dp-overlap, without a
// second memory.
TEST(CalculonSpace, HasItsCandidates) {
  EXPECT_EQ(calculon_count({64, 64}), 88'484);
  EXPECT_EQ(calculon_count({512, 512}), 166'012);
  EXPECT_EQ(CalculonWalk(good(shipped("calculon.json"))).count(), 88'484);
  EXPECT_EQ(CalculonWalk(good(shipped("calculon.json") + " --gpus 512 --global-batch 512")).count(), 166'012);
}

// Three kinds of tensor overlap there, two here; and its batch of 1,536 shrinks where 1,024 data-parallel ranks do not
// divide it.
TEST(CalculonSpace, WithOverlapDiffersByWhatIsNotModelled) {
  EXPECT_EQ(calculon_count({3072, 1536, 3, 2}), 2'802'976);
  EXPECT_EQ(calculon_count({3072, 1536, 2, 2}), 1'877'216);
  EXPECT_EQ(calculon_count({3072, 1536, 2, 2, true}), 1'876'160);
  EXPECT_EQ(CalculonWalk(good(shipped("calculon_overlap.json"))).count(), 1'876'160);
}

TEST(ShippedSpaces, AllRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/examples/spaces")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const Space space = good("--space " + entry.path().string());
    EXPECT_GT(space.size(), 1000U) << entry.path();
  }
  EXPECT_GE(files, 8);
  EXPECT_GE(good(shipped("gpt3-175b-3072.json")).size(), 20'000'000U);
}

// A point of each of the five usual ones can be forecast; of the last two, the split that was trained with.
TEST(ShippedSpaces, HoldRunsThatWork) {
  for (const char* line :
      {"llama2-7b-8.json --tp 1 --pp 1 --zero 3", "llama3-70b-64.json --tp 8 --pp 4 --schedule 1f1b",
          "gpt3-175b-512.json --tp 8 --pp 16", "deepseek-v3-2048.json --precision fp8 --tp 1 --pp 16 --ep 64",
          "llama3-405b-16384.json --tp 8 --cp 16 --pp 16 --cp-kind gather --order tp-cp-pp-dp"}) {
    const Space space = good(shipped(line));
    const auto scenario = complete(space.request);
    EXPECT_TRUE(scenario) << line << ": " << (scenario ? "" : to_text(scenario.error()));
  }
}

}  // namespace
}  // namespace stepcast::sweep
