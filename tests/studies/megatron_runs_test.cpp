// Eight measured steps of Megatron-LM on A100: Korthikanti et al. 2022 (arXiv 2205.05198), table 5, as transcribed in
// calculon-ai/calculon caa4b11f calculon/llm/validation.py. Nothing in the shipped rates was fitted on runs.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

struct MegatronRun {
  const char* network;
  int gpus, pp, chunks, micro_batch, global_batch;
  const char* recompute;  ///< selective runs use sequence parallelism, full ones do not
  double measured_s;
};

// clang-format off
constexpr MegatronRun runs[] = {
    {"megatron-22b", 8, 1, 1, 4, 4, "full", 1.42},      {"megatron-22b", 8, 1, 1, 4, 4, "selective", 1.10},
    {"gpt3-175b", 64, 8, 3, 1, 64, "full", 18.13},      {"gpt3-175b", 64, 8, 3, 1, 64, "selective", 13.75},
    {"megatron-530b", 280, 35, 3, 1, 280, "full", 49.05}, {"megatron-530b", 280, 35, 3, 1, 280, "selective", 37.83},
    {"megatron-1t", 512, 64, 1, 1, 512, "full", 94.42}, {"megatron-1t", 512, 64, 1, 1, 512, "selective", 71.49},
};
// clang-format on

nlohmann::json forecast_of(const MegatronRun& r) {
  const std::string sp = std::string(r.recompute) == "selective" ? "on" : "off";
  const auto ran =
      testing_program::run_line(fmt::format("predict {} --machine dgx-a100 --stack megatron-2022 --precision "
                                            "fp16 --zero 0 --tp 8 --gpus {} --pp {} --chunks {} "
                                            "--micro-batch {} --global-batch {} --recompute {} --sp {} --json",
          r.network, r.gpus, r.pp, r.chunks, r.micro_batch, r.global_batch, r.recompute, sp));
  EXPECT_EQ(ran.code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

TEST(MegatronRuns, UnfittedForecastIsWithinSixPercentOnAverage) {
  double sum = 0;
  for (const MegatronRun& r : runs) {
    const double predicted = forecast_of(r).at("step_time_s").get<double>();
    const double error = predicted / r.measured_s - 1;
    fmt::print("{:14} {:9} measured {:6.2f} s  forecast {:6.2f} s  {:+.1f} %\n", r.network, r.recompute, r.measured_s,
        predicted, 100 * error);
    sum += std::abs(error);
  }
  const double mean = sum / std::size(runs);
  fmt::print("mean error {:.1f} %\n", 100 * mean);
  EXPECT_LT(mean, 0.06);
}

TEST(MegatronRuns, TheIntervalHoldsMostOfThem) {
  int inside = 0;
  for (const MegatronRun& r : runs) {
    const auto interval = forecast_of(r).at("step_time_interval_s");
    inside += interval[0] <= r.measured_s && r.measured_s <= interval[1];
  }
  EXPECT_GE(inside, 6);  // an 80 % interval: 6.4 of eight
}

TEST(MegatronRuns, FitTheMemoryTheyRanIn) {
  for (const MegatronRun& r : runs)
    EXPECT_TRUE(forecast_of(r).at("memory").at("fits").get<bool>()) << r.network << ' ' << r.recompute;
}

}  // namespace
}  // namespace stepcast::studies
