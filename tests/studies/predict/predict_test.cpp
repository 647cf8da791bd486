// The predict command: what the page shows and what the JSON document holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/schedule/schedule_table.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"
#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing_program::Ran;
using testing_program::run_line;

const std::string acceptance = "predict llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024";

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

TEST(Predict, PageHasEverySectionAndFitsAScreen) {
  const Ran ran = run_line(acceptance);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Llama 3 70B on 512 x"));
  EXPECT_THAT(ran.out, ContainsRegex("Step time +[0-9.]+ m?s  [0-9.]+ m?s to [0-9.]+ m?s"));
  EXPECT_THAT(ran.out, ContainsRegex("MFU [0-9.]+ % of 989 TFLOP/s bf16, attention counted causal"));
  EXPECT_THAT(ran.out, ContainsRegex("HFU [0-9.]+ % of 989 TFLOP/s bf16"));
  for (const char* section : {"Where the time goes", "Stages", "Collectives", "Memory", "Defaults and assumptions"})
    EXPECT_THAT(ran.out, HasSubstr(section));
  EXPECT_THAT(ran.out, ContainsRegex("fits, [0-9.]+ GiB free"));
  EXPECT_THAT(ran.out, HasSubstr("--micro-batch 1"));
  EXPECT_LE(lines(ran.out).size(), 52U);
  for (const std::string& line : lines(ran.out)) {
    EXPECT_LE(shown_width(line), static_cast<std::size_t>(page_columns)) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

TEST(Predict, DoubtsAboutTheWholeForecastAreWarnings) {
  const Ran foreign = run_line("predict llama3-8b --machine rtx-4090-box --gpus 4 --profile a100-sxm-80");
  EXPECT_THAT(foreign.out, HasSubstr("was measured on a100-80gb"));
  EXPECT_THAT(foreign.out, HasSubstr("more FLOP/s than the datasheet's peak"));
  EXPECT_THAT(run_line(acceptance).out, Not(HasSubstr("was measured on")));
}

TEST(Predict, ColourOnlyWhenTheConsoleHasIt) {
  EXPECT_THAT(run_line(acceptance).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(run_line({"predict", "llama3-8b", "--gpus", "8"}, true).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(run_line({"predict", "llama3-8b", "--gpus", "8", "--json"}, true).out, Not(HasSubstr("\x1b[")));
}

TEST(Predict, JsonHasTheContractsKeys) {
  const json report = json::parse(run_line(acceptance + " --json").out);
  for (const char* key : {"step_time_s", "step_time_interval_s", "tokens_per_s_per_gpu", "model_flops_per_s_per_gpu",
           "attention_flops", "mfu", "hfu", "mfu_peak_flops_per_s", "bubble_fraction", "phases_s", "stages",
           "collectives", "memory", "warnings"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report.at("attention_flops"), "causal");
  EXPECT_EQ(report.at("stages").size(), 4U);
  std::int64_t layers = 0;
  for (const json& stage : report.at("stages")) {
    for (const char* key : {"forward_s", "input_grad_s", "weight_grad_s"}) EXPECT_GT(stage.at(key), 0.0) << key;
    layers += stage.at("layers").get<std::int64_t>();
  }
  EXPECT_EQ(layers, 80);
  ASSERT_FALSE(report.at("collectives").empty());
  for (const json& one : report.at("collectives"))
    for (const char* key :
        {"name", "kind", "axis", "group_size", "span", "bytes", "count", "time_s", "exposed_s", "source"})
      EXPECT_TRUE(one.contains(key)) << key;
}

TEST(Predict, PhasesSumToTheStep) {
  for (const char* line : {"predict llama3-70b --gpus 512 --tp 8 --pp 4", "predict llama3-8b --gpus 8 --zero 3",
           "predict gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full"}) {
    const json report = json::parse(run_line(std::string(line) + " --json").out);
    ASSERT_EQ(report.at("phases_s").size(), 11U);
    double sum = 0;
    for (const auto& [name, time] : report.at("phases_s").items()) sum += time.get<double>();
    EXPECT_NEAR(sum / report.at("step_time_s").get<double>(), 1, 1e-9) << line;
  }
}

TEST(Predict, FiguresAgreeWithEachOther) {
  const json report = json::parse(run_line(acceptance + " --json").out);
  const double step = report.at("step_time_s");
  EXPECT_NEAR(report.at("tokens_per_s_per_gpu").get<double>(), 1024 * 8192 / step / 512, 1e-6);
  EXPECT_NEAR(report.at("mfu").get<double>(),
      report.at("model_flops_per_s_per_gpu").get<double>() / report.at("mfu_peak_flops_per_s").get<double>(), 1e-12);
  EXPECT_LT(report.at("mfu"), report.at("hfu"));
  EXPECT_LT(report.at("hfu"), 1);
  EXPECT_LT(report.at("step_time_interval_s")[0], step);
  EXPECT_GT(report.at("step_time_interval_s")[1], step);
  // 6 x 70e9 parameters x tokens is the rule of thumb for model FLOPs; attention adds to it.
  EXPECT_NEAR(
      report.at("model_flops_per_s_per_gpu").get<double>() * step * 512 / (6 * 70.55e9 * 1024 * 8192), 1.05, 0.1);
}

TEST(Predict, LifetimesSumToThePeak) {
  const json memory = json::parse(run_line(acceptance + " --json").out).at("memory");
  double sum = 0;
  for (const auto& [name, bytes] : memory.at("by_lifetime_bytes").items()) sum += bytes.get<double>();
  EXPECT_NEAR(sum / memory.at("peak_bytes").get<double>(), 1, 1e-9);
  EXPECT_EQ(memory.at("capacity_bytes").get<double>(), 80.0 * (1ULL << 30));
  EXPECT_TRUE(memory.at("fits"));
}

TEST(Predict, NotFittingIsAResult) {
  const Ran ran = run_line("predict llama3-70b --gpus 8 --tp 8");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, ContainsRegex("does NOT fit: [0-9.]+ GiB too much"));
  const json report = json::parse(run_line("predict llama3-70b --gpus 8 --tp 8 --json").out);
  EXPECT_FALSE(report.at("memory").at("fits"));
  EXPECT_THAT(report.at("warnings").dump(), HasSubstr("does not fit"));
}

TEST(Predict, AttentionCountingIsSaid) {
  const json causal = json::parse(run_line(acceptance + " --json").out);
  const json full = json::parse(run_line(acceptance + " --attention-flops full --json").out);
  EXPECT_EQ(full.at("attention_flops"), "full");
  EXPECT_GT(full.at("mfu"), causal.at("mfu"));
  EXPECT_EQ(full.at("step_time_s"), causal.at("step_time_s"));
  EXPECT_THAT(run_line(acceptance + " --attention-flops full").out, HasSubstr("attention counted full"));
}

TEST(Predict, EveryDefaultIsSaidAndNoMore) {
  const json report = json::parse(run_line("predict llama3-8b --json").out);
  std::vector<std::string> flags;
  for (const json& one : report.at("defaults")) flags.push_back(one.at("flag"));
  EXPECT_THAT(flags, testing::UnorderedElementsAre("--machine", "--stack", "--profile", "--gpus", "--micro-batch",
                         "--global-batch", "--seq", "--precision", "--zero", "--sp", "--schedule", "--recompute"));
  const json said = json::parse(run_line("predict llama3-8b --gpus 8 --zero 2 --json").out);
  EXPECT_EQ(said.at("defaults").size(), flags.size() - 2);
}

TEST(Predict, DefaultsGiveWayWhereTheyWouldNotDivide) {
  // 25 heads on 5; 1024 positions and 50257 rows do not divide
  const Ran ran = run_line("predict gpt2-1.5b --gpus 5 --tp 5");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("--sp off (sequence 1024 does not divide by tp 5)"));
  EXPECT_THAT(ran.out, HasSubstr("vocabulary 50257 does not divide by tp 5"));
  EXPECT_EQ(run_line("predict gpt2-1.5b --gpus 5 --tp 5 --sp on").code, 2);
  EXPECT_THAT(run_line("predict llama3-8b --gpus 12").out, HasSubstr("12 GPUs do not fill their last node of 8"));
}

TEST(Predict, RecomputeTradesMemoryForTime) {
  const auto ran = [](const char* recompute) {
    return json::parse(run_line(std::string("predict llama3-8b --gpus 8 --json --recompute ") + recompute).out);
  };
  const json none = ran("none"), some = ran("full:8"), full = ran("full");
  EXPECT_LT(none.at("step_time_s"), some.at("step_time_s"));
  EXPECT_LT(some.at("step_time_s"), full.at("step_time_s"));
  EXPECT_GT(none.at("memory").at("peak_bytes"), full.at("memory").at("peak_bytes"));
  EXPECT_NEAR(none.at("mfu").get<double>() / none.at("hfu").get<double>(), 1, 0.03);
  EXPECT_LT(full.at("mfu").get<double>() / full.at("hfu").get<double>(), 0.8);
}

TEST(Predict, ExplainShowsMappingWinnersAndPrices) {
  const Ran ran = run_line(acceptance + " --explain");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("par g*r on tp"));
  EXPECT_THAT(ran.out, ContainsRegex("attn.core +tp +g +par g\\*r on tp"));
  EXPECT_THAT(ran.out, ContainsRegex("attn.core +forward +8192 keys .* us"));
  EXPECT_THAT(ran.out, ContainsRegex("all_gather +forward +tp \\(8\\) over node"));
  const json report = json::parse(run_line(acceptance + " --explain --json").out);
  EXPECT_FALSE(report.at("explanation").at("choices").empty());
  for (const json& kernel : report.at("explanation").at("kernels")) EXPECT_GT(kernel.at("time_s"), 0.0);
}

TEST(Predict, EveryScheduleRuns) {
  const std::string command =
      "predict llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 128 --json --schedule ";
  const double plain = nlohmann::json::parse(testing_program::run_line(command + "1f1b").out).at("step_time_s");
  for (const ScheduleKind& kind : schedule_kinds()) {
    const auto ran =
        testing_program::run_line(command + kind.id + (kind.takes_chunks && kind.own_chunks == 0 ? " --chunks 2" : ""));
    ASSERT_EQ(ran.code, 0) << kind.id << ": " << ran.err;
    const double seconds = nlohmann::json::parse(ran.out).at("step_time_s");
    EXPECT_GT(seconds, 0.8 * plain) << kind.id;
    EXPECT_LT(seconds, 1.6 * plain) << kind.id;
  }
}

TEST(Predict, AVEndsOnTheStageWhereItBegins) {
  // Llama-3-8B does not tie its embeddings; embedding and head are both on the first stage of a V, none on the last.
  const std::string command =
      "predict llama3-8b --machine dgx-h100 --gpus 32 --tp 2 --pp 4 --global-batch 128 --json --schedule ";
  const auto stages = nlohmann::json::parse(testing_program::run_line(command + "zb-v").out).at("stages");
  EXPECT_GT(stages.front().at("forward_s").get<double>(), stages.back().at("forward_s").get<double>());
}

}  // namespace
}  // namespace stepcast::predict
