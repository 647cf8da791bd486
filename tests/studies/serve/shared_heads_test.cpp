// Heads that prompts share: the cache has them once, and the most that the engine serves grows with them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

json served_json(const std::string& load) {
  const auto ran = run_line("serve llama3-8b --machine dgx-h100 --json " + load);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

double most_of(const json& answer) { return answer["saturation"]["requests_per_s"]; }

/// What is shared is neither read nor held again.
TEST(SharedHeads, SaturationGrowsWithThem) {
  double last = 0;
  for (const int shared : {0, 512, 1024, 1536, 2047}) {
    const double most =
        most_of(served_json(fmt::format("--input 2048 --output 300 --concurrency 8 --requests 8 --shared {}", shared)));
    EXPECT_GT(most, last) << shared;
    last = most;
  }
}

/// With the cache some times over full of users, too.
TEST(SharedHeads, NoClosedLoopServesMoreThanSaturation) {
  for (const char* engine : {"vllm", "sglang"})
    for (const int users : {64, 256, 600}) {
      const json loop = served_json(fmt::format(
          "--engine {} --input 2000 --shared 1000 --output 1000 --requests 1300 --concurrency {}", engine, users));
      EXPECT_LE(loop["requests_per_s"].get<double>(), 1.03 * most_of(loop)) << engine << " " << users;
    }
}

/// The best of the closed loops is near it: it is no bound that nothing reaches.
TEST(SharedHeads, AClosedLoopComesNearSaturation) {
  const json loop =
      served_json("--input 2000 --shared 1000 --output 1000 --concurrency 224 --requests 2240 --warm-up 448");
  EXPECT_NEAR(loop["tokens_per_s"].get<double>() / loop["saturation"]["tokens_per_s"].get<double>(), 1, 0.1);
}

/// Half of what a closed loop of 64 users does has latencies; half as much again as saturation has none.
TEST(SharedHeads, LoadsThatAreServedHaveLatencies) {
  const std::string load = "--input 2000 --shared 1000 --output 1000 --requests 300 --rate ";
  const json below = served_json(load + "2");
  EXPECT_FALSE(below["saturated"].get<bool>());
  EXPECT_GT(most_of(below), 4);
  EXPECT_TRUE(served_json(load + fmt::format("{:.3f}", 1.5 * most_of(below)))["saturated"].get<bool>());
}

/// 16 users with 1,024 + 128 positions of their own each hold 18,432 at their ends, and the head of 3,072 is there
/// once.
TEST(SharedHeads, TheCacheHasThemOnce) {
  const json one = served_json("--input 4096 --shared 3072 --output 128 --concurrency 16 --requests 16");
  const double positions = one["cache"]["positions"];
  EXPECT_NEAR(one["cache"]["most_used"].get<double>() * positions, 18'432 + 3072, 16);
}

/// A cache of 449,360 positions is 28,085 blocks of 16: 469,000 of a head are 29,312, and none is left for the rest.
TEST(SharedHeads, ALongerOneThanTheCacheIsRefused) {
  const auto ran = run_line("serve llama3-8b --machine dgx-h100 --input 470000 --shared 469000 --output 1000 "
                            "--concurrency 4 --requests 4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("needs 126 blocks of 16 beside 29312 of the shared head"));
  EXPECT_THAT(ran.err, HasSubstr("has 28085"));
}

}  // namespace
}  // namespace stepcast::serve
