// Layers that carry a state: what a sequence keeps, and what words and prompts take.
#include <gtest/gtest.h>

#include "model/profile/scan_law.h"
#include "tests/studies/infer/serving_by_name.h"

namespace stepcast::infer {
namespace {

Serving on_h100(const char* network, std::int64_t tp) { return serving(network, "dgx-h100", tp); }

const sim::IterationPart* scan_of(const sim::IterationTime& iteration) {
  for (const sim::IterationPart& part : iteration.parts)
    if (part.shape.find("heads of 64 x 128") != std::string::npos) return &part;
  return nullptr;
}

// Nemotron-H 8B: 24 layers of Mamba-2 with 128 heads of 64 x 128, fp32, and convolutions that look three positions back
// over 8,192 + 2 x 8 groups x 128 channels, bf16; 4 layers of attention with 8 key heads of 128.
constexpr double state = 128 * 64 * 128 * 4, looked_back = 3 * (8192 + 2 * 8 * 128) * 2, layers = 24;
constexpr double keys = 4 * 2 * 8 * 128 * 2;

TEST(States, AreKeptOncePerSequenceAndSplitByHeads) {
  const Serving one = on_h100("nemotron-h-8b", 1), two = on_h100("nemotron-h-8b", 2);
  EXPECT_EQ(one.cache_bytes(0), layers * (state + looked_back));
  EXPECT_EQ(one.cache_bytes(1000) - one.cache_bytes(0), 1000 * keys);
  EXPECT_EQ(two.cache_bytes(1000), one.cache_bytes(1000) / 2);
}

/// Granite 4.0 H Small: 36 layers of 128 heads of 64 x 128 in one group. vLLM splits the heads, and each rank has a
/// copy of what the group makes, 2 x 128 channels of the convolution among them; moments of the norm over all heads are
/// summed. TensorRT-LLM splits groups alone.
TEST(States, RanksHaveCopiesOfOneGroup) {
  const Serving one = on_h100("granite-4.0-h-small", 1), two = on_h100("granite-4.0-h-small", 2);
  const auto of_a_rank = [](double heads) { return 36 * (heads * 64 * 128 * 4 + 3 * (heads * 64 + 2 * 128) * 2); };
  EXPECT_EQ(one.cache_bytes(0), of_a_rank(128));
  EXPECT_EQ(two.cache_bytes(0), of_a_rank(64));
  const sim::IterationTime words = iterate(two, sim::Rows{8, 1, 1024});
  ASSERT_NE(part_of(words, "mixer.O.q all_reduce"), nullptr);
  ASSERT_NE(part_of(words, "mixer.in"), nullptr);
  EXPECT_NE(part_of(words, "mixer.in")->shape.find(" 8512 x 4096"), std::string::npos)
      << "64 heads of 64, twice, and their steps; 2 x 128 of the group";
  ServingWishes wishes;
  wishes.network = "granite-4.0-h-small", wishes.machine = "dgx-h100", wishes.tp = 2;
  for (const char* engine : {"vllm", "vllm-2026", "sglang"}) {
    wishes.engine = engine;
    EXPECT_TRUE(serving_of(wishes)) << engine;
  }
  wishes.engine = "tensorrt-llm";
  const auto refused = serving_of(wishes);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("1 groups of heads"), std::string::npos) << to_text(refused.error());
  wishes.engine = "vllm", wishes.network = "falcon-h1-34b", wishes.tp = 4;
  const auto groups = serving_of(wishes);
  ASSERT_FALSE(groups) << "two groups on four ranks";
  EXPECT_NE(groups.error().what.find("2 groups of heads"), std::string::npos) << to_text(groups.error());
}

/// A state is charged once: longer sequences are never more of them.
TEST(States, CapacityFallsWithLength) {
  const Serving one = on_h100("nemotron-h-8b", 1);
  std::int64_t before = capacity(one, 1).sequences;
  EXPECT_GT(before, 100);
  for (const std::int64_t length : {2, 15, 16, 17, 31, 32, 1024, 65536}) {
    const std::int64_t now = capacity(one, length).sequences;
    EXPECT_LE(now, before) << length;
    before = now;
  }
}

/// Words read and write each state once; prompts have the law of scans. Neither depends on what came before.
TEST(States, WordsStreamThemAndPromptsScan) {
  const Serving one = on_h100("nemotron-h-8b", 1);
  const ServingCost cost(one);
  const sim::IterationTime words = cost.time(sim::Rows{32, 1, 4096}), later = cost.time(sim::Rows{32, 1, 65536});
  ASSERT_NE(scan_of(words), nullptr);
  EXPECT_EQ(scan_of(words)->bytes.value(), layers * 2 * 32 * state);
  EXPECT_EQ(scan_of(words)->time, scan_of(later)->time);
  const double rate = scan_of(words)->bytes.value() / scan_of(words)->time.value();
  EXPECT_LT(rate, one.machine().gpu.memory_bandwidth.value());
  EXPECT_GT(rate, 0.7 * one.machine().gpu.memory_bandwidth.value());

  const sim::IterationTime prompt = cost.time(sim::Rows{1, 8192, 0});
  ScanShape shape;
  shape.function = find_scan("ssd");
  shape.sequences = 1, shape.positions = 8192, shape.heads = 128, shape.groups = 8, shape.value_size = 64;
  shape.key_size = 128, shape.chunk = 128;
  const double tuned = find_tuning(one.engine, "hopper", "")->kernels;
  EXPECT_NEAR(scan_of(prompt)->time / (scan_time(*one.profile, shape, false).time * (layers * tuned)), 1, 1e-9);
}

/// Rows of one iteration are told apart: a prompt beside words takes what both take by themselves.
TEST(States, RowsAreScannedByThemselves) {
  const Serving one = on_h100("nemotron-h-8b", 1);
  const ServingCost cost(one);
  const sim::Rows prompt{1, 2048, 0}, words{16, 1, 4096};
  const auto scans = [&](std::vector<sim::Rows> rows) {
    Seconds time;
    for (const sim::IterationPart& part : cost.time(rows).parts)
      if (part.shape.find("heads of 64 x 128") != std::string::npos) time += part.time;
    return time;
  };
  EXPECT_NEAR(scans({prompt, words}) / (scans({prompt}) + scans({words})), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::infer
