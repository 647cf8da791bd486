// stepcast validate: statistics by hand, strict records, and the shipped runs.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/records/embedded_runs.h"
#include "studies/records/run_machine.h"
#include "studies/records/run_scenario.h"
#include "studies/validation/validation.h"
#include "tests/studies/run_program.h"

namespace stepcast::validation {
namespace {

TEST(ValidationStatistics, SummaryByHand) {
  const ErrorSummary summary = summarise({0.10, -0.20, 0.30});
  EXPECT_EQ(summary.n, 3U);
  EXPECT_NEAR(summary.mape, 0.20, 1e-12);
  EXPECT_NEAR(summary.bias, 0.20 / 3, 1e-12);
  EXPECT_NEAR(summary.median, 0.20, 1e-12);
  EXPECT_NEAR(summary.p90, 0.28, 1e-12);  // sizes 0.1, 0.2, 0.3: 0.8 of the way from the second to the third
  EXPECT_NEAR(summary.worst, 0.30, 1e-12);
  EXPECT_EQ(summarise({}).n, 0U);
}

TEST(ValidationStatistics, WorstKeepsItsSign) { EXPECT_NEAR(summarise({0.1, -0.4}).worst, -0.4, 1e-12); }

TEST(ValidationStatistics, MedianOfEvenCountLiesBetween) { EXPECT_NEAR(median({4, 1, 3, 2}), 2.5, 1e-12); }

TEST(ValidationStatistics, SpearmanByHand) {
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {4, 3, 2, 1}), -1, 1e-12);
  // Ranks 1 2 3 4 against 2 1 4 3: 1 - 6 * 4 / (4 * 15) = 0.6.
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {20, 10, 40, 30}), 0.6, 1e-12);
  EXPECT_EQ(spearman({5, 5, 5}, {1, 2, 3}), 0);
}

TEST(ValidationStatistics, RegretIsWhatTheChoiceCosts) {
  EXPECT_NEAR(regret({3, 1, 2}, {10, 11, 12}), 0.1, 1e-12);  // the second is chosen, the first is best
  EXPECT_EQ(regret({1, 2}, {5, 6}), 0);
}

ValidatedCase made_case(const char* id, double measured, double predicted) {
  ValidatedCase row;
  row.id = id, row.gpu = "A100", row.precision = "fp16", row.kind = "dense", row.stack = "s", row.group = "g",
  row.source = "paper";
  row.measured_s = measured, row.predicted_s = predicted, row.error = predicted / measured - 1;
  row.low_s = 0.9 * predicted, row.high_s = 1.1 * predicted;
  row.model_flops = 100;
  return row;
}

TEST(ValidationClasses, BaselineIsTheMedianRate) {
  // Rates 100, 50 and 25 per second; at the median of 50 all three take 2 s: errors +100, 0 and -50 %.
  const std::vector<ValidatedCase> cases = {made_case("a", 1, 1.1), made_case("b", 2, 2), made_case("c", 4, 5)};
  const auto rows = class_rows(cases, ranked_groups(cases));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "A100 fp16 dense s");
  EXPECT_NEAR(rows[0].baseline_mape, 0.5, 1e-12);
  EXPECT_NEAR(rows[0].error.mape, (0.1 + 0 + 0.25) / 3, 1e-12);
  EXPECT_NEAR(rows[0].coverage, 2.0 / 3, 1e-12);
  EXPECT_EQ(rows[0].groups, 0U);  // three runs are too few to rank
  EXPECT_TRUE(rows[1].by_source);
}

TEST(ValidationClasses, GroupsOfFourAreRanked) {
  const std::vector<ValidatedCase> cases = {
      made_case("a", 10, 12), made_case("b", 11, 11), made_case("c", 12, 13), made_case("d", 13, 14)};
  const auto groups = ranked_groups(cases);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_NEAR(groups[0].spearman, 0.8, 1e-12);  // ranks 2 1 3 4: 1 - 6 * 2 / 60
  EXPECT_NEAR(groups[0].regret, 0.1, 1e-12);
}

const std::string minimal = R"({"id": "x", "source": {"ref": "paper"}, "date": "2024-05",
  "model": {"name": "m", "layers": 8, "hidden": 1024, "ffn_hidden": 4096, "heads": 8, "head_dim": 128, "seq_len": 2048, "vocab": 32000, "gated_mlp": true},
  "hardware": {"gpu": "H100-80GB-SXM", "gpus_per_node": 8}, "parallel": {"gpus": 8, "tp": 2, "dp": 4},
  "batch": {"micro_batch": 1, "global_batch": 16}, "precision": "bf16", "software": "NeMo 24.09", "measured": {"step_time_s": 1.5}})";

std::string record_with(const std::string& from, const std::string& to) {
  std::string text = minimal;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& record) {
  const auto runs = read_runs("[" + record + "]", "r.json");
  return runs ? "" : to_text(runs.error());
}

Run run_of(const std::string& record) {
  auto runs = read_runs("[" + record + "]", "r.json");
  EXPECT_TRUE(runs.has_value()) << (runs ? "" : to_text(runs.error()));
  return runs ? runs->front() : Run{};
}

TEST(RunRecords, MinimalRecordReads) {
  const stepcast::Run run = run_of(minimal);
  EXPECT_EQ(run.parallel.pp, 1);
  EXPECT_FALSE(run.recompute.has_value());
  EXPECT_FALSE(run.parallel.chunks.has_value());
  EXPECT_EQ(run.measured.step_time_s, 1.5);
}

TEST(RunRecords, ErrorsNameThePlace) {
  EXPECT_NE(error_of(record_with("\"global_batch\"", "\"globl_batch\"")).find("globl_batch"), std::string::npos);
  EXPECT_NE(error_of(record_with("\"date\": \"2024-05\"", "\"date\": \"2024-05\", \"date\": \"2024-06\"")).find("date"),
      std::string::npos);
  EXPECT_NE(error_of(record_with("\"layers\": 8", "\"layers\": \"8\"")).find("/model/layers"), std::string::npos);
  EXPECT_NE(error_of(record_with("\"layers\": 8", "\"layers\": 0")).find("/model/layers"), std::string::npos);
  EXPECT_NE(error_of(record_with("1.5", "-1.5")).find("step_time_s"), std::string::npos);
  EXPECT_NE(error_of(minimal + "," + minimal).find("second run"), std::string::npos);
  EXPECT_NE(error_of(minimal + ",").find("r.json"), std::string::npos);
}

TEST(RunRecords, OneWhoseSplitDoesNotMultiplyOutIsSkippedAlone) {
  const auto validation = validate_runs({run_of(record_with("\"dp\": 4", "\"dp\": 3")), run_of(minimal)});
  EXPECT_EQ(validation.cases.size(), 1U);
  ASSERT_EQ(validation.skipped.size(), 1U);
  EXPECT_NE(validation.skipped[0].reason.find("8 GPUs, but tp 2 x pp 1 x cp 1 x dp 3 = 6"), std::string::npos);
}

TEST(ValidationDoubts, OneWhoseFiguresContradictEachOtherIsDoubtful) {
  // 16 sequences x 2,048 tokens / (8 GPUs x 4,096 tokens/s) = 1 s, and it says 1.5 s.
  const std::string tokens = "1.5, \"tokens_per_s_per_gpu\": 4096";
  const auto validation = validate_runs({run_of(record_with("1.5", tokens))});
  ASSERT_EQ(validation.cases.size(), 1U);
  EXPECT_EQ(validation.cases[0].doubt, "says 1.5 s, and its tokens per second mean 1 s");
}

TEST(ValidationDoubts, TheyAreFoundInAnyFileAndLeftOutOfTheSoundFigures) {
  const stepcast::Run run = run_of(minimal);
  const double seconds = validate_runs({run}).cases.at(0).predicted_s;
  std::vector<stepcast::Run> runs(5, run);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].id = std::string(1, static_cast<char>('a' + i));
    runs[i].measured.step_time_s = seconds * (1 + 0.01 * static_cast<double>(i));
  }
  runs[4].measured.step_time_s = 2 * seconds;
  const auto validation = validate_runs(runs);
  EXPECT_EQ(validation.all.n, 5U);
  EXPECT_EQ(validation.sound.n, 4U);
  EXPECT_NE(validation.cases[4].doubt.find("away from the middle of its group of 5 runs"), std::string::npos);
  // Forecast over measured 1, 1/1.01, 1/1.02, 1/1.03 and 1/2.
  EXPECT_NEAR(validation.all.worst, -0.5, 1e-9);
  EXPECT_NEAR(validation.sound.worst, 1 / 1.03 - 1, 1e-9);
}

TEST(RunRecords, ListInAnObjectReadsToo) {
  EXPECT_TRUE(read_runs("{\"runs\": [" + minimal + "]}", "r.json").has_value());
}

TEST(RunMachines, RecordsOverrideTheCatalogue) {
  stepcast::Run run = run_of(minimal);
  run.hardware.inter_node = "RoCE, 4 HCAs";
  run.hardware.inter_node_gbit_per_s = 100;
  run.parallel.gpus = 16;
  const auto machine = machine_of(run);
  ASSERT_TRUE(machine.has_value());
  const Level& cluster = machine->row.levels.back();
  EXPECT_EQ(cluster.fabric, FabricKind::ethernet);
  EXPECT_NEAR(cluster.bandwidth_per_gpu.value(), 12.5e9, 1);
  EXPECT_EQ(cluster.ports, 4);
  EXPECT_NEAR(cluster.port_bandwidth.value(), 25e9, 1);  // 8 GPUs x 12.5 GB/s through 4 NICs
  run.hardware.gpu = "Abacus-1";
  EXPECT_FALSE(machine_of(run).has_value());
}

TEST(UnevenStages, EmbeddingAndHeadCountAsLayers) {
  const auto bloom = uneven_stages(70, 12, 0);  // (70 + 2) / 12 = 6 each
  EXPECT_EQ(bloom.front(), 5);
  EXPECT_EQ(bloom[5], 6);
  EXPECT_EQ(bloom.back(), 5);
  const auto deepseek = uneven_stages(61, 16, 1);  // (61 + 3) / 16 = 4 each
  EXPECT_EQ(deepseek.front(), 3);
  EXPECT_EQ(deepseek.back(), 2);
  for (const std::int64_t layers : {7, 46, 61, 78, 94})
    for (const std::int64_t parts : {2, 4, 5, 12}) {
      const auto sizes = uneven_stages(layers, parts, 0);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), layers);
      EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()), 2);
    }
}

/// A layer of 2048 with 32 heads of 64 and 4096 in the middle has 4 x 2048^2 + 3 x 4096 x 2048 = 42 M weights, a head
/// of 50,257 rows 103 M: of 1,110 M on four stages the first is full at 277 M, behind its seventh layer.
TEST(FilledStages, TheHeadWeighsAsMuchAsItsProduct) {
  NetworkSpec spec;
  spec.layers = 24, spec.hidden = 2048, spec.heads = 32, spec.head_dim = 64, spec.ffn_hidden = 4096, spec.vocab = 50257;
  EXPECT_EQ(filled_stages(spec, 4), (std::vector<std::int64_t>{7, 7, 6, 4}));
  for (const std::int64_t parts : {2, 3, 8, 16}) {
    const auto sizes = filled_stages(spec, parts);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), 24) << parts;
    EXPECT_EQ(std::count(sizes.begin(), sizes.end() - 1, 0), 0) << "a stage in front of the last has a layer";
  }
}

TEST(RunScenarios, SayWhatTheyAssume) {
  const auto made = scenario_of(run_of(minimal));
  ASSERT_TRUE(made.has_value()) << to_text(made.error());
  const auto says = [&](const char* words) {
    return std::any_of(made->assumptions.begin(), made->assumptions.end(),
        [&](const std::string& text) { return text.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("no recomputation"));
  EXPECT_TRUE(says("sequence parallelism on"));
  EXPECT_TRUE(says("zero 1"));
  EXPECT_TRUE(says("as usual with nemo"));
}

TEST(RunScenarios, OverlapOfTheRecordRules) {
  stepcast::Run run = run_of(minimal);
  run.overlap.tp = false;
  run.overlap.dp_grad = false;
  const auto made = scenario_of(run);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->scenario.stack.row.activation_moves, Manners::blocking);
  EXPECT_EQ(made->scenario.stack.row.gradient_reduces, Manners::blocking);
}

TEST(RunScenarios, BatchThatDoesNotDivideIsSkippedWithNumbers) {
  const Validation result = validate_runs({run_of(record_with("\"global_batch\": 16", "\"global_batch\": 18"))});
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_NE(result.skipped[0].reason.find("18 is not a multiple of micro-batch 1 x dp 4"), std::string::npos);
}

std::vector<Run> shipped_runs() {
  std::vector<Run> runs;
  for (const EmbeddedFile& file : embedded_runs()) {
    auto read = read_runs(std::string(file.text), std::string(file.name));
    EXPECT_TRUE(read.has_value()) << (read ? "" : to_text(read.error()));
    if (read) runs.insert(runs.end(), read->begin(), read->end());
  }
  return runs;
}

const Validation& shipped(bool unfitted) {
  static const Validation fitted = validate_runs(shipped_runs()), plain = validate_runs(shipped_runs(), Fits::ignored);
  return unfitted ? plain : fitted;
}

double mape_of_source(const Validation& validation, const char* source) {
  for (const ValidatedClass& row : validation.classes)
    if (row.by_source && row.name.find(source) != std::string::npos) return row.error.mape;
  ADD_FAILURE() << source;
  return 1;
}

TEST(ShippedRuns, WhatStatesItsTimeAndItsGpusIsForecastUnlessItConvolvesOrRecommends) {
  const Validation& result = shipped(false);
  EXPECT_EQ(result.cases.size() + result.skipped.size(), shipped_runs().size());
  std::map<std::string, int> skipped;
  for (const SkippedRun& run : result.skipped) ++skipped[run.reason.substr(0, run.reason.find(" ("))];
  const std::map<std::string, int> stated = {{"measured/step_time_s: the record has no time", 13},
      {"model/arch: these layers are not forecast: convolutions over images", 3},
      {"model/arch: these layers are not forecast: tables and dot products of a recommender", 2},
      {"parallel/gpus: the record does not say on how many GPUs it ran", 3}};
  EXPECT_EQ(skipped, stated);
}

TEST(ShippedRuns, A100ForecastsWithoutAFit) {
  EXPECT_LE(mape_of_source(shipped(true), "vTrain"), 0.09);
  EXPECT_LE(mape_of_source(shipped(true), "Korthikanti et al. 2022 (arXiv 2205.05198) Table 5"), 0.04);
}

TEST(ShippedRuns, LargeDenseClassesBeatTheMedianRate) {
  int classes = 0;
  for (const ValidatedClass& row : shipped(false).classes) {
    if (row.by_source || row.error.n < 10 || row.name.find(" dense ") == std::string::npos) continue;
    ++classes;
    EXPECT_LT(row.error.mape, row.baseline_mape) << row.name;
  }
  EXPECT_GE(classes, 8);
}

TEST(ValidateCommand, JsonHoldsEveryRunOnce) {
  const auto ran = testing_program::run_line("validate --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  std::set<std::string> ids;
  for (const char* list : {"cases", "skipped"})
    for (const auto& row : json.at(list)) EXPECT_TRUE(ids.insert(row.at("id").get<std::string>()).second);
  EXPECT_EQ(ids.size(), shipped_runs().size());
  for (const auto& row : json.at("cases")) {
    EXPECT_NEAR(row.at("error").get<double>(),
        row.at("predicted_s").get<double>() / row.at("measured_s").get<double>() - 1, 1e-9);
    EXPECT_LE(row.at("interval_s")[0], row.at("interval_s")[1]);
  }
}

TEST(ValidateCommand, WrongInputIsExplained) {
  EXPECT_EQ(testing_program::run_line("validate no-such-file.json").code, 2);
  EXPECT_EQ(testing_program::run_line("validate a.json b.json").code, 2);
}

}  // namespace
}  // namespace stepcast::validation
