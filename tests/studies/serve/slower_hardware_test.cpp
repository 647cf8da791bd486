// Slower hardware serves no more tokens a second: random engines and loads, by the mean field and by the simulator.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/serving/service_figures.h"
#include "sim/serving/steady/mean_field.h"
#include "studies/infer/served_load.h"
#include "studies/infer/what_if.h"

namespace stepcast::serve {
namespace {

struct DrawnLoad {
  infer::ServingWishes wishes;
  sim::RequestLaw law;
  std::int64_t users = 1;
};

class DrawnLoads {
 public:
  template <typename T> T one_of(const std::vector<T>& values) { return values[random_() % values.size()]; }

  DrawnLoad next() {
    DrawnLoad out;
    out.wishes.network =
        one_of<std::string>({"llama3-8b", "llama3-70b", "mixtral-8x7b", "qwen3-30b-a3b", "gpt-oss-20b"});
    out.wishes.machine = one_of<std::string>({"dgx-a100", "dgx-h100", "dgx-b200", "l40s-server", "mi300x-server"});
    out.wishes.engine = one_of<std::string>({"vllm", "sglang", "tensorrt-llm"});
    out.wishes.weights = one_of<std::string>({"", "", "fp8", "int4"});
    out.wishes.tp = one_of<std::int64_t>({1, 2, 4, 8});
    const double shortest = one_of<double>({1, 0.5, 0.1});
    out.law.prompts = sim::lengths_of(one_of<std::int64_t>({64, 512, 2048}), shortest);
    out.law.outputs = sim::lengths_of(one_of<std::int64_t>({32, 128, 512}), shortest);
    out.law.seed = random_() % 1000;
    out.users = one_of<std::int64_t>({1, 4, 16, 64});
    out.law.count = 5 * out.users;
    return out;
  }

 private:
  std::mt19937 random_{20261128};
};

struct TokensServed {
  double at_most = 0, of_users = 0;  ///< tokens a second: saturated in the mean field; simulated
};

TokensServed served_by(const infer::Serving& serving, const DrawnLoad& drawn) {
  infer::ServedTimes times(serving);
  const sim::BatchTimer timer = times.timer();
  const double length = static_cast<double>(drawn.law.prompts.high + drawn.law.outputs.high);
  const sim::Servers servers{
      infer::policy_of(serving, length), 1, serving.attention_groups(), 1, serving.engine.host_per_request};
  sim::Load load;
  load.requests = sim::requests_of(drawn.law), load.concurrency = drawn.users;
  const sim::ServedRun run = sim::simulate(load, servers, timer);
  return {sim::MeanField(sim::means_of(drawn.law), servers, timer).saturation().words_per_second,
      sim::figures_of(run, servers, 0).words_per_second};
}

/// Other times let other requests meet in an iteration, which shifts a run of a few users by a percent.
TEST(SlowerHardware, ServesNoMoreTokensASecond) {
  DrawnLoads loads;
  constexpr int enough = 60;
  constexpr double shifted = 1.01;
  int compared = 0;
  for (int draws = 0; draws < 20 * enough && compared < enough; ++draws) {
    const DrawnLoad drawn = loads.next();
    const auto serving = infer::serving_of(drawn.wishes);
    if (!serving) continue;  // heads that do not divide, types that the GPU lacks
    const double length = static_cast<double>(drawn.law.prompts.high + drawn.law.outputs.high);
    if (infer::capacity(*serving, static_cast<std::int64_t>(length)).sequences < 1) continue;
    const TokensServed before = served_by(*serving, drawn);
    Scenario scenario = serving->scenario;
    scenario.profile.row = *serving->profile;
    for (const whatif::MachineLever& lever : whatif::machine_levers(scenario)) {
      if (lever.of_software || lever.id == "hbm-capacity") continue;
      const double times = loads.one_of<double>({0.5, 0.9});
      const TokensServed after =
          served_by(infer::with_lever(*serving, lever, lever.more_is_faster ? times : 1 / times), drawn);
      EXPECT_LE(after.at_most, shifted * before.at_most)
          << drawn.wishes.network << " " << drawn.wishes.engine << " " << drawn.wishes.machine << " " << lever.id;
      EXPECT_LE(after.of_users, shifted * before.of_users)
          << drawn.wishes.network << " " << drawn.wishes.engine << " " << drawn.wishes.machine << " " << lever.id;
    }
    ++compared;
  }
  EXPECT_EQ(compared, enough) << "the others were refused";
}

}  // namespace
}  // namespace stepcast::serve
