// Runs that were published, as launches and as scenario files written by hand beside them: the same network is
// recognised, and the forecast is the same figure.
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/run/scenario_file.h"
#include "tests/studies/launch/restated_launch.h"

namespace stepcast::launch {
namespace {

using testing_launch::RestatedLaunch;

struct KnownRun {
  std::string scenario;  ///< file
  RestatedLaunch launch;
  double gradient_bytes = 0;  ///< that the launch tells and a scenario file cannot; 0 = the stack's
};

void PrintTo(const KnownRun& run, std::ostream* out) { *out << run.scenario; }

RestatedLaunch known_launch(const std::string& file, const std::string& flag, std::int64_t gpus = 0,
    std::map<std::string, std::string> defined = {}, const std::string& release = "") {
  RestatedLaunch row;
  row.file = file, row.flag = flag, row.gpus = gpus, row.defined = std::move(defined), row.release = release;
  return row;
}

std::vector<KnownRun> known_runs() {
  std::vector<KnownRun> runs;
  // Korthikanti et al. 2022 (arXiv 2205.05198), table 5: the first release of the table that knows all of their flags
  for (const char* model : {"22B", "175B", "530B", "1T"})
    for (const char* recompute : {"full", "selective"})
      runs.push_back({std::string("korthikanti22_") + model + "_" + recompute,
          known_launch("korthikanti22.sh", "--megatron", 0, {{"MODEL", model}, {"RECOMPUTE", recompute}}, "23.04")});
  runs.push_back({"bigscience_bloom_176b",
      known_launch("bigscience_bloom_176b.slurm", "--megatron", 0, {{"SLURM_NNODES", "48"}}, "bigscience")});
  runs.push_back(
      {"torchtitan_llama3_70b", known_launch("torchtitan_llama3_70b_0.1.0.toml", "--torchtitan", 256, {}, "0.1.0")});
  runs.push_back({"bridge_llama3_70b", known_launch("bridge_llama3_70b_64gpu.yaml", "--megatron", 64), 4});
  return runs;
}

class KnownRuns : public testing::TestWithParam<KnownRun> {};

TEST_P(KnownRuns, TheLaunchAndTheScenarioGiveTheSameFigure) {
  const KnownRun& run = GetParam();
  const std::string file = testing_launch::launches_folder() + run.scenario + ".scenario.json";
  auto by_hand = read_scenario(testing_launch::text_of_file(file), file);
  ASSERT_TRUE(by_hand) << to_text(by_hand.error());
  const auto launch = testing_launch::read_restated(run.launch);
  ASSERT_TRUE(launch) << to_text(launch.error());
  auto reading = testing_launch::restated_meaning(run.launch, *launch);
  ASSERT_TRUE(reading) << to_text(reading.error());

  EXPECT_EQ(reading->request.network->id, by_hand->network->id);
  EXPECT_EQ(reading->request.stack->row.id, by_hand->stack->row.id);
  if (run.gradient_bytes > 0) by_hand->stack->row.gradient_bytes = run.gradient_bytes;
  reading->request.machine = by_hand->machine;  // no launch tells it: --machine
  const auto read = complete(reading->request), written = complete(*by_hand);
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_TRUE(written) << to_text(written.error());
  EXPECT_EQ(read->plan.mapping, written->plan.mapping);

  const auto of_launch = run::predict(*read), of_scenario = run::predict(*written);
  ASSERT_TRUE(of_launch) << to_text(of_launch.error());
  ASSERT_TRUE(of_scenario) << to_text(of_scenario.error());
  EXPECT_DOUBLE_EQ(of_launch->step.step_time.value(), of_scenario->step.step_time.value());
  EXPECT_DOUBLE_EQ(of_launch->step.memory.peak.value(), of_scenario->step.memory.peak.value());
  EXPECT_DOUBLE_EQ(of_launch->mfu, of_scenario->mfu);
}

INSTANTIATE_TEST_SUITE_P(
    Published, KnownRuns, testing::ValuesIn(known_runs()), [](const auto& row) { return row.param.scenario; });

}  // namespace
}  // namespace stepcast::launch
