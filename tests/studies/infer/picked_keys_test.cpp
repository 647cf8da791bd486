// Networks whose attention picks keys or compresses them: what stands in the cache, what words and prompts look at.
#include <gtest/gtest.h>

#include "tests/studies/infer/serving_by_name.h"

namespace stepcast::infer {
namespace {

Serving picking(const char* network, std::int64_t tp, const char* machine = "hgx-h200") {
  return serving(network, machine, tp);
}

double flops_of(const Serving& of, const sim::Rows& rows, const char* label) {
  const auto iteration = ServingCost(of).time(rows);
  double sum = 0;
  for (const sim::IterationPart& part : iteration.parts)
    if (part.label == label) sum += part.flops.value();
  return sum;
}

/// A latent of 512 + 64 numbers in bf16 and a key of the indexer, 128 numbers of a byte and a scale of four.
TEST(PickedKeys, TheCacheHoldsLatentsAndIndexKeys) {
  EXPECT_EQ(picking("deepseek-v3.2", 8).cache_bytes(1000), 61.0 * 1000 * (576 * 2 + 132));
  EXPECT_EQ(picking("deepseek-v3.2", 1).cache_bytes(1000), 61.0 * 1000 * (576 * 2 + 132)) << "on every rank";
  EXPECT_EQ(picking("glm-5", 8).cache_bytes(1000), 78.0 * 1000 * (576 * 2 + 132));
  // MiniMax M3: 4 key heads of 128 on 4 ranks; 57 of 60 layers have one head of index keys besides.
  EXPECT_EQ(picking("minimax-m3", 4).cache_bytes(1000), 1000.0 * (60 * 2 * 128 * 2 + 57 * 128 * 2));
}

/// vLLM's fp8 of latents: 512 bytes, 4 scales of 4 bytes, and 64 turned numbers of 2. Of other caches it is none.
TEST(PickedKeys, LatentsHaveATypeOfTheirOwn) {
  ServingWishes wishes;
  wishes.network = "deepseek-v3.2", wishes.machine = "hgx-h200", wishes.tp = 8, wishes.cache = "fp8-ds-mla";
  EXPECT_NEAR(serving_of(wishes)->cache_bytes(1000), 61.0 * 1000 * (656 + 132), 1e-3);
  wishes.network = "llama3-8b";
  EXPECT_EQ(serving_of(wishes).error().where, "--kv");
  wishes.cache.clear(), wishes.weights = "fp8-ds-mla";
  EXPECT_EQ(serving_of(wishes).error().where, "--weights");
}

/// DeepSeek V4 Flash: 43 layers keep 128 keys of 512 numbers, which are values, too; 21 a compressed key and an index
/// key of every 4 positions, 20 a compressed key of every 128. What the next compressed key is made of, rows and gates
/// in fp32: 8 rows of 1024 and of 256 where neighbours overlap, 128 rows of 512 where they do not.
TEST(PickedKeys, TheCacheHoldsAWindowAndCompressedKeys) {
  const Serving s = picking("deepseek-v4-flash", 8);
  const double states = 21.0 * (8 * 2 * 1024 * 4 + 8 * 2 * 256 * 4) + 20.0 * 128 * 2 * 512 * 4;
  EXPECT_NEAR(s.cache_bytes(0), states, 1e-6);
  const double positions = 12'800, window = 43.0 * 128 * 512 * 2,
               compressed = 21.0 * positions / 4 * (512 * 2 + 132) + 20.0 * positions / 128 * 512 * 2;
  EXPECT_NEAR(s.cache_bytes(positions), states + window + compressed, 1e-3);
  // Its own fp8: 448 bytes, 64 turned numbers of 2, 7 scales and a byte to fill, of keys in the window and compressed.
  ServingWishes wishes;
  wishes.network = "deepseek-v4-flash", wishes.machine = "hgx-h200", wishes.tp = 8, wishes.cache = "fp8-ds-mla";
  const double narrow = 43.0 * 128 * 584 + 21.0 * positions / 4 * (584 + 132) + 20.0 * positions / 128 * 584;
  EXPECT_NEAR(serving_of(wishes)->cache_bytes(positions), states + narrow, 1e-3);
}

/// Where all keys of short sequences are seen nothing is scored for them, whichever indexer picks the keys of others.
TEST(PickedKeys, ShortSequencesOfANetworkScoreNothing) {
  ServingWishes wishes;
  wishes.tp = 8;
  auto network = run::choose_network("deepseek-v3.2", "network").value();
  network.row.dense_positions = 4'096;
  const auto s = serving_of(wishes, std::move(network), run::choose_machine("hgx-h200", "--machine").value(),
      run::choose_engine("vllm", "--engine").value().row, nullptr);
  ASSERT_TRUE(s) << to_text(s.error());
  const double per_key = 61.0 * 3 * 16 * 2 * (576 + 512);
  EXPECT_EQ(part_of(iterate(*s, {3, 1, 4'095}), "index.scores"), nullptr);
  EXPECT_NEAR(flops_of(*s, {3, 1, 4'095}, "attn.core") / (per_key * 4'096), 1, 1e-9);
  EXPECT_NEAR(flops_of(*s, {3, 1, 4'096}, "index.scores") / (61.0 * 3 * 2 * 64 * 128 * 4'097), 1, 1e-9);
  EXPECT_NEAR(flops_of(*s, {3, 1, 4'096}, "attn.core") / (per_key * 2'048), 1, 1e-9);
}

/// A word scores all keys with 64 heads of 128 and looks at 2048 of them with 128 heads, as far as there are so many.
TEST(PickedKeys, WordsScoreAllKeysAndSeeTheBest) {
  const Serving s = picking("deepseek-v3.2", 8);
  EXPECT_NEAR(flops_of(s, {3, 1, 9'999}, "index.scores") / (61.0 * 3 * 2 * 64 * 128 * 10'000), 1, 1e-9);
  const double per_key = 61.0 * 3 * 16 * 2 * (576 + 512);
  EXPECT_NEAR(flops_of(s, {3, 1, 9'999}, "attn.core") / (per_key * 2'048), 1, 1e-9);
  EXPECT_NEAR(flops_of(s, {3, 1, 99'999}, "attn.core") / (per_key * 2'048), 1, 1e-9);
  EXPECT_NEAR(flops_of(s, {3, 1, 999}, "attn.core") / (per_key * 1'000), 1, 1e-9);
}

/// Of 4096 new positions the first see few keys: 2048 - 2048 x 2047 / (2 x 4096) on average, and behind 4096 others all
/// of them 2048.
TEST(PickedKeys, PromptsSeeTheBestOfThoseBeforeThem) {
  const Serving s = picking("deepseek-v3.2", 8);
  const double per_key = 61.0 * 4'096 * 16 * 2 * (576 + 512);
  EXPECT_NEAR(flops_of(s, {1, 4'096, 0}, "attn.core") / (per_key * (2'048 - 2'048.0 * 2'047 / (2 * 4'096))), 1, 1e-9);
  EXPECT_NEAR(flops_of(s, {1, 4'096, 4'096}, "attn.core") / (per_key * 2'048), 1, 1e-9);
  // Scores: the mean of 4097 .. 8192 keys.
  EXPECT_NEAR(flops_of(s, {1, 4'096, 4'096}, "index.scores") / (61.0 * 4'096 * 2 * 64 * 128 * 6'144.5), 1, 1e-9);
}

/// Behind 12,799 positions a word of V4 sees 128 keys, and of compressed ones 512 that 21 layers pick of 3,200, and all
/// 100 in 20; the indexer scores 3,200. The kernel walks whole blocks of the window: up to 128 keys more.
TEST(PickedKeys, CompressedKeysAreSeenBesideAWindow) {
  const Serving s = picking("deepseek-v4-flash", 8);
  EXPECT_NEAR(flops_of(s, {2, 1, 12'799}, "index.scores") / (21.0 * 2 * 2 * 64 * 128 * 3'200), 1, 1e-9);
  const double per_key = 2.0 * 8 * 2 * (512 + 512), seen = 2 * 256 + 21 * (256 + 512) + 20 * (256 + 100);
  EXPECT_NEAR(flops_of(s, {2, 1, 12'799}, "attn.core") / (per_key * seen), 1, 0.01);
}

/// What picks keys grows with the context by its scores alone: slower than what looks at all of them.
TEST(PickedKeys, TimeGrowsWithScores) {
  const auto word = [](const Serving& s, double context) {
    return ServingCost(s).time(sim::Rows{16, 1, context}).time;
  };
  for (const char* network : {"deepseek-v3.2", "glm-5", "deepseek-v4-flash", "minimax-m3"}) {
    const Serving s = picking(network, 8);
    EXPECT_LT(word(s, 1'000), word(s, 10'000)) << network;
    EXPECT_LT(word(s, 10'000), word(s, 100'000)) << network;
  }
  const Serving picks = picking("deepseek-v3.2", 8), all = picking("deepseek-v3", 8);
  EXPECT_GT(word(picks, 1'000), word(all, 1'000)) << "an indexer for nothing";
  EXPECT_LT(word(picks, 100'000), word(all, 100'000));
  const ServingCost cost(picks);
  const auto long_prompt = cost.time(sim::Rows{1, 8'192, 120'000});
  EXPECT_NE(part_of(long_prompt, "index.scores"), nullptr);
  EXPECT_LT(long_prompt.time, ServingCost(all).time(sim::Rows{1, 8'192, 120'000}).time);
}

/// Nobody timed these kernels in an engine: the interval says so.
TEST(PickedKeys, WidenTheInterval) {
  const Serving s = picking("deepseek-v3.2", 8);
  const auto iteration = ServingCost(s).time(sim::Rows{16, 1, 60'000});
  const auto& spread = find_tuning(s.engine, "hopper", "bf16")->spread;
  EXPECT_GT(iteration.spread.p90, spread.p90);
  EXPECT_TRUE(part_of(iteration, "attn.core")->extrapolated);
  EXPECT_TRUE(part_of(iteration, "index.scores")->extrapolated);
}

}  // namespace
}  // namespace stepcast::infer
