#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::comparison::compare_command_test {
namespace {

using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

constexpr const char* run = "llama3-8b --gpus 8 --tp 2 --pp 2 --global-batch 16 --seq 2048";
const std::string traces = STEPCAST_SOURCE_DIR "/docs/measured/h100-sxm/traces/";

std::string timeline_of(const std::string& more) {
  const std::string path = own_path("timeline.json");
  EXPECT_EQ(run_line(std::string("timeline ") + run + more + " --force -o " + path).code, 0);
  return path;
}

TEST(CompareCommand, AForecastBesideItselfIsNoGap) {
  const auto ran = run_line(std::string("compare ") + run + " --trace " + timeline_of(""));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("none: no difference of a thousandth of the step"));
}

TEST(CompareCommand, AForecastOfAnotherRunIsNoted) {
  const std::string trace = timeline_of(" --machine dgx-h100");
  const auto beside = [&](const std::string& more) {
    return run_line("compare --json " + std::string(run) + more + " --trace " + trace).out;
  };
  EXPECT_THAT(beside(" --machine dgx-h100"), testing::Not(HasSubstr("another run")));
  EXPECT_THAT(
      beside(" --machine dgx-a100"), HasSubstr("the trace is of another run: Llama 3 8B on 8 GPUs of DGX H100"));
  EXPECT_THAT(beside(" --machine dgx-h100 --micro-batch 2"), HasSubstr("not Llama 3 8B on 8 GPUs of DGX H100: tp 2"));
}

TEST(CompareCommand, RowsSumToTheGap) {
  const auto ran = run_line(std::string("compare --json ") + run + " --trace " + timeline_of(" --recompute full"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto document = nlohmann::json::parse(ran.out);
  double sum = 0;
  for (const auto& row : document.at("rows")) sum += row.at("difference_s").get<double>();
  EXPECT_NEAR(sum, document.at("difference_s").get<double>(), 1e-3 * std::abs(sum));
  EXPECT_EQ(document.at("causes").at(0).at("cause"), "more work");
}

TEST(CompareCommand, RealTracesShowTheirSteps) {
  const auto ran = run_line("compare " + traces + "llama-1b_train_bf16_b2xt4096xm1_flash_graph.trace.json.gz");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("3 steps by calls of the optimizer"));
  EXPECT_THAT(ran.out, HasSubstr("gemm                339"));
}

TEST(CompareCommand, ClocksAreTakenFromATable) {
  const std::string table = own_path("clocks.csv"),
                    trace = traces + "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz";
  std::ofstream(table) << "index, clocks.sm [MHz], utilization.gpu [%]\n0, 1500 MHz, 99 %\n0, 345 MHz, 1 %\n";
  const auto ran = run_line("compare --json --facts --clocks " + table + " " + trace);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("traces").at(0).at("clock_hz"), 1500e6);
  std::ofstream(table) << "index, clocks.sm [MHz]\n3, 1500 MHz\n";
  const auto other = run_line("compare --facts --clocks " + table + " " + trace);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("has no samples of GPU 0"));
  EXPECT_EQ(run_line("compare --clocks " + table + " " + trace + " " + trace).code, 2) << "of which of the two?";
}

TEST(CompareCommand, TwoTracesStandBesideEachOther) {
  const std::string trace = traces + "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz";
  const auto ran = run_line("compare " + trace + " " + trace);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("none: no difference"));
}

/// The trace of one step of Llama 1B on one H100 beside runs that it is not of.
TEST(CompareCommand, RefusesTracesOfOtherRuns) {
  const std::string llama = traces + "llama-1b_train_bf16_b2xt4096xm1_flash_graph.trace.json.gz",
                    decode = traces + "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz",
                    network = STEPCAST_SOURCE_DIR "/docs/measured/h100-sxm/networks/llama-1b.json",
                    step = network + " --stack pytorch --micro-batch 2 --seq 4096 ";
  const auto refused = [](const std::string& line, const std::string& why) {
    const auto ran = run_line("compare " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  EXPECT_EQ(run_line("compare " + step + "--gpus 1 --global-batch 2 --trace " + llama).code, 0);
  refused(step + "--gpus 1 --global-batch 2 --machine dgx-b200 --trace " + llama, "NVIDIA H100 80GB HBM3");
  refused(step + "--gpus 8 --global-batch 16 --trace " + llama, "has no collective, and the forecast has");
  refused(step + "--gpus 1 --global-batch 2 --trace " + decode, "it is of another run");
  refused("llama3-8b --stack pytorch --gpus 1 --micro-batch 1 --global-batch 1 --seq 1024 --trace " + llama,
      "16 forward kernels of attention, and the forecast has 32");
  refused("llama3.2-3b --stack pytorch --gpus 1 --micro-batch 2 --global-batch 2 --seq 4096 --trace " + llama,
      "times the GPU's peak");
  refused(step + "--gpus 1 --global-batch 2 --trace " + llama + " --trace " + llama, "the run has 1 GPU");
}

/// One word of Llama 3 8B behind 1,024 positions on one H100, replayed from a graph.
TEST(CompareCommand, AnIterationStandsBesideItsForecast) {
  const std::string trace = " --trace " + traces + "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz";
  const auto ran = run_line("compare --json llama3-8b --phase decode --context 1024" + trace);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto document = nlohmann::json::parse(ran.out);
  double sum = 0;
  for (const auto& row : document.at("rows")) sum += row.at("difference_s").get<double>();
  EXPECT_NEAR(sum, document.at("difference_s").get<double>(), 1e-3 * std::abs(sum) + 1e-9);
  const auto refused = [&](const std::string& flags, const std::string& why) {
    const auto bad = run_line("compare llama3-8b " + flags + trace);
    EXPECT_EQ(bad.code, 2) << flags;
    EXPECT_THAT(bad.err, HasSubstr(why)) << flags;
  };
  refused("--phase decode --context 1024 --seq 4096", "says what a step of training is");
  refused("--phase batch --prompt 512", "a trace shows one at a time");
  refused("--phase decode --context 1024 --pp 2 --gpus 2", "a trace is of one");
  refused("--prompt 16384", "it is of another run");
}

TEST(CompareCommand, WritesAPageAndAProfile) {
  const std::string step = std::string(STEPCAST_SOURCE_DIR) +
                           "/docs/measured/h100-sxm/networks/llama-1b.json --stack " +
                           "pytorch --micro-batch 2 --seq 4096 --gpus 1 --global-batch 2",
                    trace = " --trace " + traces + "llama-1b_train_bf16_b2xt4096xm1_flash_graph.trace.json.gz",
                    page = own_path("page.html"), profile = own_path("profile.json");
  const auto ran = run_line("compare " + step + trace + " --force -o " + page + " -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("with it the step is forecast at"));
  std::ifstream written(page);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  for (const char* part : {"id=\"waterfall\"", "id=\"timelines\"", "\"expected\"", "\"measured\"", "exposed"})
    if (std::string(part) != "exposed") EXPECT_THAT(text, HasSubstr(part));
  // The next forecast is of this GPU: products and attention as they were measured.
  const auto again = run_line("compare --json " + step + " --profile " + profile + trace);
  ASSERT_EQ(again.code, 0) << again.err;
  const auto document = nlohmann::json::parse(again.out);
  for (const auto& row : document.at("rows"))
    if (row.at("name") == "matrix products" || row.at("name") == "attention")
      EXPECT_NEAR(row.at("measured_s").get<double>() / row.at("expected_s").get<double>(), 1, 0.02) << row;
  const auto refused =
      run_line("compare " + traces + "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz -o x.html");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("nothing is held beside"));
}

TEST(CompareCommand, RefusesWhatItCannotHoldBesideEachOther) {
  const auto refused = [](const std::string& line, const std::string& why) {
    const auto ran = run_line("compare " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  const std::string real = traces + "llama-1b_train_bf16_b2xt4096xm1_flash_graph.trace.json.gz";
  refused("", "no trace is named");
  const std::string iteration = own_path("iteration.json");
  ASSERT_EQ(run_line("infer llama3-8b --context 100 --trace " + iteration).code, 0);
  refused(iteration, "a timeline without kernels of a training step");
  refused("--tp 2 " + real, "says what a run is");
  refused(std::string(run) + " --trace " + real, "says no rank");
  refused("falcon-mamba-7b --gpus 8 --global-batch 8 --trace " + real, "another network");
  refused("llama3-8b --gpus 1 --facts --trace " + real, "does not go with --trace");
  refused(std::string("llama3-8b --gpus 8 --global-batch 8 --trace ") + real + " --trace " + timeline_of(""),
      "another job");
  refused("/there/is/no/trace.json", "cannot be read");
}

}  // namespace
}  // namespace stepcast::comparison::compare_command_test
