// What is known of training steps, whatever their figures: sentences that hold for random plans of the catalogue's
// networks.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using testing_program::Ran;
using testing_program::run_line;

using Json = nlohmann::json;

/// Seconds of a step; 0 where the plan is refused.
double step_of(const std::string& line) {
  const Ran ran = run_line("predict " + line + " --json");
  return ran.code == 0 ? Json::parse(ran.out)["step_time_s"].get<double>() : 0;
}

class Drawn {
 public:
  template <typename T> T one_of(const std::vector<T>& values) { return values[random_() % values.size()]; }

 private:
  std::mt19937 random_{20261122};
};

TEST(KnownPhysics, SequenceParallelismIsNoSlowerThanNone) {
  Drawn drawn;
  int compared = 0;
  while (compared < 200) {
    const int tp = drawn.one_of<int>({2, 4, 8}), pp = drawn.one_of<int>({1, 2, 4});
    const std::string line =
        fmt::format("{} --machine {} --gpus 64 --tp {} --pp {} --micro-batch {} --global-batch 256",
            drawn.one_of<std::string>({"llama2-7b", "llama2-70b", "llama3-8b", "llama3-70b", "gpt3-175b"}),
            drawn.one_of<std::string>({"dgx-a100", "dgx-h100"}), tp, pp, drawn.one_of<int>({1, 2, 4}));
    const double with = step_of(line + " --sp on"), without = step_of(line + " --sp off");
    if (with <= 0 || without <= 0) continue;
    ++compared;
    EXPECT_LT(with, 1.02 * without) << line;
  }
}

TEST(KnownPhysics, EfficiencyOfWeakScalingFalls) {
  for (const char* plan : {"llama2-7b --machine dgx-a100 --zero 1", "llama3-8b --machine dgx-h100 --zero 3",
           "llama2-70b --machine dgx-h100 --tp 8", "mixtral-8x7b --machine dgx-h100 --ep 8",
           "gpt3-175b --machine dgx-b200 --tp 8 --pp 8"}) {
    double before = 0, first = 0;
    for (int gpus = 64; gpus <= 4096; gpus *= 2) {
      const double now = step_of(fmt::format("{} --gpus {} --global-batch {}", plan, gpus, gpus));
      ASSERT_GT(now, 0) << plan << " " << gpus;
      // Shards of optimizer states become smaller as well.
      EXPECT_GT(now, 0.99 * before) << plan << " " << gpus;
      if (before == 0) first = now;
      before = now;
    }
    EXPECT_GT(before, first) << plan << ", 4,096 GPUs against 64";
  }
}

}  // namespace
}  // namespace stepcast::predict
