// A launch is forecast as any other run, and a sweep over it tries other ways of the same job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/sweep/typed_sweep.h"

namespace stepcast::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;

const std::string kept_launch = "--megatron " STEPCAST_SOURCE_DIR "/examples/launches/llama3_70b.sh --machine dgx-h100";

using testing_sweep::expect_same_forecast;
using testing_sweep::swept;

json launch_json(const std::string& line) {
  const Ran ran = run_line("predict " + line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

TEST(SweepLaunch, ThePrintedCommandForecastsItsRow) {
  const json answer = swept(kept_launch + " --top 3");
  for (const json& row : answer["top"]) expect_same_forecast(row);
}

/// 6.7 billion parameters; GPUs and batch are left to the command line.
const std::string typed_arguments = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 "
                                    "--max-position-embeddings 2048 --bf16 "
                                    "--micro-batch-size 2 --tensor-model-parallel-size 2";

TEST(SweepLaunch, ThePrintedCommandSaysWhatTheLaunchDoesNotTell) {
  const std::string before = "--machine dgx-h100 --gpus 16 --top 3 ";
  for (const std::string& batch : {std::string(), std::string("--micro-batch 1,2 --global-batch 64 ")}) {
    const Ran ran =
        run_line("sweep " + before + batch + "--json --megatron -- " + typed_arguments + " --vocab-size 51200");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json answer = json::parse(ran.out);
    for (const json& row : answer["top"]) expect_same_forecast(row);
  }
}

TEST(SweepLaunch, WordsBehindAFileGoOverIt) {
  const Ran ran = run_line("predict " + kept_launch + " --gpus 256 -- --tensor-model-parallel-size 4");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\ntp 4,"));
  EXPECT_THAT(ran.out, HasSubstr("and the last counts: 4"));
  const Ran untold = run_line("predict --gpus 16 --megatron -- " + typed_arguments);
  EXPECT_THAT(untold.err, HasSubstr("-- --vocab-size N at the end of the command"));
}

TEST(SweepLaunch, AnotherSplitMayFitWhereTheLaunchsDoesNot) {
  const std::string odd =
      "predict --gpus 6 --megatron -- " + typed_arguments + " --vocab-size 51200 --pipeline-model-parallel-size 2";
  EXPECT_THAT(
      run_line(odd).err, HasSubstr("6 GPUs are not a multiple of tp 2 x cp 1 x pp 2 = 4\n  nearest: 4 or 8 GPUs\n"));
  const Ran other =
      run_line("predict --gpus 6 --pp 3 --layout 10,11,11 --global-batch 6" + odd.substr(odd.find(" --megatron")));
  EXPECT_EQ(other.code, 0) << other.err;
}

TEST(SweepLaunch, AnotherFrameworksFileIsReadBackWithTheSameSoftware) {
  const Ran ran = run_line("predict " + kept_launch + " --emit nemo");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("read it back with --nemo overrides.yaml --stack megatron-core"));
}

TEST(SweepLaunch, TheJobStaysAndItsOwnWayIsAmongThoseTried) {
  const double own = launch_json(kept_launch)["step_time_s"];
  EXPECT_LT(swept(kept_launch + " --top 1")["top"][0]["report"]["step_time_s"].get<double>(), own);
  const json fixed = swept(kept_launch + " --tp 8 --pp 8 --sp off --recompute full --micro-batch 1 --chunks 1 --top 1");
  EXPECT_DOUBLE_EQ(fixed["top"][0]["report"]["step_time_s"].get<double>(), own);
}

TEST(SweepLaunch, FlagsGoOverALaunch) {
  const Ran half = run_line("predict " + kept_launch + " --gpus 256");
  EXPECT_THAT(half.out, HasSubstr("on 256 x NVIDIA"));
  EXPECT_THAT(half.out, HasSubstr("256 x 4 sequences"));  // the batch of the launch on half its data ranks
}

TEST(SweepLaunch, ItsOwnSplitNeedNotDivideTheGpusAskedFor) {
  const Ran refused = run_line("predict " + kept_launch + " --gpus 48");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("48 GPUs"));
  const json answer = swept(kept_launch + " --gpus 48 --global-batch 96 --top 1");
  ASSERT_EQ(answer["top"].size(), 1U);
  expect_same_forecast(answer["top"][0]);
}

TEST(SweepLaunch, ALaunchIsNamedOnceAndAlone) {
  EXPECT_THAT(run_line("predict " + kept_launch + " --torchtitan x.toml").err, HasSubstr("names a launch already"));
  EXPECT_THAT(run_line("predict llama3-8b --define TP=8").err, HasSubstr("none is given"));
  EXPECT_THAT(run_line("predict llama3-8b --release 2.5").err, HasSubstr("none is given"));
  EXPECT_THAT(run_line("predict").err, HasSubstr("--launch run.sh"));
  EXPECT_THAT(run_line("predict llama3-8b " + kept_launch).err, HasSubstr("leave out the network"));
}

}  // namespace
}  // namespace stepcast::launch
