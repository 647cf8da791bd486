// Software that nobody named is one of those that have names: its interval holds what most of them are forecast to
// take.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using UnnamedJson = nlohmann::json;

struct UnnamedShare {
  int inside = 0, all = 0;
};

UnnamedShare held_on(const std::string& machine, int plans) {
  constexpr const char* stacks[] = {"megatron-core", "nemo", "pytorch-fsdp", "jax", "llm-foundry", "nanotron"};
  constexpr const char* networks[] = {"llama3-8b", "llama3-70b", "qwen2.5-32b", "gpt3-13b", "mistral-7b"};
  std::mt19937 random(7);
  const auto one_of = [&](std::initializer_list<int> values) { return *(values.begin() + random() % values.size()); };
  UnnamedShare share;
  for (int tried = 0; tried < plans; ++tried) {
    const int zero = one_of({0, 1, 3}), tp = zero < 3 ? one_of({1, 2, 4, 8}) : 1, pp = zero < 3 ? one_of({1, 2, 4}) : 1,
              dp = one_of({2, 4, 8}), units = one_of({1, 2, 4});
    const std::string line = fmt::format(
        "predict {} --machine {} --gpus {} --tp {} --pp {} --zero {} --global-batch {} --seq {} --recompute {} --json",
        networks[random() % std::size(networks)], machine, tp * pp * dp, tp, pp, zero, dp * pp * units,
        one_of({2048, 4096, 8192}), random() % 2 == 0 ? "none" : "full");
    const auto unnamed = testing_program::run_line(line);
    if (unnamed.code != 0) continue;
    const auto interval = UnnamedJson::parse(unnamed.out).at("step_time_interval_s");
    for (const char* stack : stacks) {
      const auto named = testing_program::run_line(line + " --stack " + stack);
      if (named.code != 0) continue;
      const double step = UnnamedJson::parse(named.out).at("step_time_s");
      ++share.all, share.inside += interval[0].get<double>() <= step && step <= interval[1].get<double>();
    }
  }
  return share;
}

TEST(UnnamedSoftware, ItsIntervalHoldsWhatNamedSoftwareTakes) {
  for (const char* machine : {"dgx-b200", "dgx-h100", "dgx-a100", "mi300x-server"}) {
    const UnnamedShare share = held_on(machine, 12);
    ASSERT_GT(share.all, 40) << machine;
    EXPECT_GE(share.inside, 0.8 * share.all) << machine << ": " << share.inside << " of " << share.all;
  }
}

}  // namespace
}  // namespace stepcast::predict
