// How many sets and calls one replay takes: cold by construction, and the fake GPU's cache agrees.
#include "calibrate/measure/rotation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/calibrate/measure/fake_gpu.h"

namespace stepcast::calibrate {
namespace {

constexpr Bytes cache_50mb{50e6}, free_80gb{80e9};

TEST(Rotation, sets_exceed_three_caches_and_are_gone_round_in_full) {
  // 150 MB of sets of 10 MB: 15. A call takes 10 us, so a round 150 us, and 2 ms are 13.3 rounds: 14.
  const auto found = cold_rotation(Bytes(10e6), cache_50mb, Seconds(10e-6), free_80gb, {});
  ASSERT_TRUE(found.has_value()) << to_text(found.error());
  EXPECT_EQ(found->copies, 15);
  EXPECT_EQ(found->calls, 14 * 15);
  EXPECT_FALSE(found->flush);
  EXPECT_TRUE(is_cold(*found, Bytes(10e6), cache_50mb));
}

TEST(Rotation, one_set_beyond_the_caches_comes_again_and_again) {
  const auto found = cold_rotation(Bytes(1e9), cache_50mb, Seconds(0.5e-3), free_80gb, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->copies, 1);
  EXPECT_EQ(found->calls, 4);
  EXPECT_FALSE(found->flush);
  // However long a call takes.
  const auto slow = cold_rotation(Bytes(1e9), cache_50mb, Seconds(0.5), free_80gb, {});
  EXPECT_EQ(slow->calls, 1);
  EXPECT_FALSE(slow->flush);
}

TEST(Rotation, tiny_works_are_flushed_and_use_each_set_once) {
  // 150 MB of sets of 1 kB would be 150,000 calls in a graph. 4 us a call: 500 calls make 2 ms.
  const auto found = cold_rotation(Bytes(1e3), cache_50mb, Seconds(4e-6), free_80gb, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->flush);
  EXPECT_EQ(found->copies, 500);
  EXPECT_EQ(found->calls, 500);
  EXPECT_EQ(cold_rotation(Bytes(1e3), cache_50mb, Seconds(1e-6), free_80gb, {})->calls, 1024) << "nodes of a graph";
}

TEST(Rotation, a_round_that_takes_too_long_is_flushed) {
  // Two sets of 100 MB, 15 ms a call: 30 ms a round, and a replay may take 20.
  const auto found = cold_rotation(Bytes(100e6), cache_50mb, Seconds(15e-3), free_80gb, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->flush);
  EXPECT_EQ(found->copies, 1);
  EXPECT_EQ(found->calls, 1);
}

TEST(Rotation, memory_for_one_set_only) {
  // 80 % of 140 MB hold one set of 100 MB where two are wanted.
  const auto found = cold_rotation(Bytes(100e6), cache_50mb, Seconds(1e-3), Bytes(140e6), {});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->flush);
  EXPECT_EQ(found->copies, 1);
  EXPECT_EQ(found->calls, 1);
}

TEST(Rotation, memory_for_none_names_the_sizes) {
  const auto found = cold_rotation(Bytes(1 << 30), cache_50mb, Seconds(1e-3), Bytes(1 << 30), {});
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().what.find("1.00 GiB"), std::string::npos) << to_text(found.error());
  EXPECT_NE(found.error().what.find("819 MiB"), std::string::npos) << to_text(found.error());
}

TEST(Rotation, launches_touch_nothing) {
  const auto found = cold_rotation(Bytes(0), cache_50mb, Seconds(4e-6), free_80gb, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->copies, 1);
  EXPECT_EQ(found->calls, 500);
  EXPECT_FALSE(found->flush);
}

TEST(Rotation, warm_is_one_set) {
  const Rotation found = warm_rotation(Seconds(0.25e-3), {});
  EXPECT_EQ(found.copies, 1);
  EXPECT_EQ(found.calls, 8);
  EXPECT_FALSE(is_cold(found, Bytes(10e6), cache_50mb));
}

TEST(Rotation, what_is_not_cold) {
  EXPECT_FALSE(is_cold({9, 9, false}, Bytes(10e6), cache_50mb)) << "90 MB: less than two caches";
  EXPECT_TRUE(is_cold({10, 10, false}, Bytes(10e6), cache_50mb));
  EXPECT_FALSE(is_cold({10, 15, false}, Bytes(10e6), cache_50mb)) << "five sets come again after five";
  EXPECT_FALSE(is_cold({10, 20, true}, Bytes(10e6), cache_50mb)) << "twice after one flush";
}

TEST(Rotation, every_one_is_cold_and_within_memory_and_time) {
  const MethodRules rules;
  for (double touched = 1; touched < 1e11; touched *= 3.1)
    for (double call = 1e-6; call < 1; call *= 4.7)
      for (const double free : {1e9, 1e11}) {
        const auto found = cold_rotation(Bytes(touched), cache_50mb, Seconds(call), Bytes(free), rules);
        if (touched > 0.8 * free) {
          EXPECT_FALSE(found.has_value()) << touched;
          continue;
        }
        ASSERT_TRUE(found.has_value()) << touched;
        EXPECT_TRUE(is_cold(*found, Bytes(touched), cache_50mb)) << touched << ' ' << call;
        EXPECT_LE(touched * found->copies, 0.8 * free);
        EXPECT_LE(found->calls, rules.most_calls);
        EXPECT_TRUE(found->calls == 1 || call * found->calls <= rules.longest_replay.value()) << touched << ' ' << call;
      }
}

Seconds fake_per_call(const Rotation& rotation) {
  FakeGpu gpu;
  auto work = gpu.prepare(fake_work(MemoryQuery{find_memory_op("copy"), 1024, 2048, 2})).value();  // 8.4 MB
  EXPECT_TRUE(work->allocate(rotation.copies).has_value());
  EXPECT_TRUE(work->record(rotation.calls).has_value());
  EXPECT_TRUE(work->replay(rotation.flush).has_value());
  return work->replay(rotation.flush).value() / rotation.calls;
}

TEST(Rotation, the_fake_cache_runs_what_is_not_cold_faster) {
  const Work copy = fake_work(MemoryQuery{find_memory_op("copy"), 1024, 2048, 2});
  FakeGpu gpu;
  const Bytes touched = gpu.touched_by(copy);
  const double truth = gpu.true_time(copy).value();
  const auto cold = cold_rotation(touched, cache_50mb, gpu.true_time(copy), free_80gb, {});
  ASSERT_TRUE(cold.has_value());
  EXPECT_NEAR(fake_per_call(*cold).value(), truth, 1e-9);
  EXPECT_NEAR(fake_per_call({4, 400, false}).value(), truth / 1.5, 1e-9);
  EXPECT_NEAR(fake_per_call({400, 400, true}).value(), truth, 1e-9);
}

}  // namespace
}  // namespace stepcast::calibrate
