// Measured phases: what they say is fitted, judged, or refused.
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "studies/infer/fit_engine.h"
#include "studies/infer/phases.h"
#include "studies/infer/records/records.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

constexpr const char* record = R"({"id": "one", "judged_as": "decode_phase", "phase": "decode",
  "model": {"id": "meta-llama/Llama-2-70b-hf"}, "hardware": {"gpu": "H100-SXM-80GB", "count": 8, "nodes": 1},
  "software": {"name": "vLLM", "version": "0.12.0"}, "precision": {"weights": "bf16", "kv_cache": null},
  "parallel": {"tp": 8, "pp": 1}, "workload": {"isl": 512, "osl": 128, "batch": 4},
  "measured": {"decode_step_ms": 12.5, "samples_ms": [12.4, 12.6]}})";

/// What was made with known figures is found again: records of forecasts by a row whose host takes 3 ms an iteration.
TEST(InferRecords, TuningsAreFitted) {
  Engine engine = **find_row(built_in().engines, "vllm-v0", "engine");
  for (Engine::Tuning& row : engine.tunings)
    if (row.architecture == "hopper" && row.products_in.empty())
      row.host_per_iteration = Seconds(3e-3), row.host_per_sequence = Seconds(4e-5), row.keys_read_again = 0.3;
  std::vector<InferenceRecord> records;
  for (const char* model : {"llama2-70b", "llama3-8b", "llama3-70b"})
    for (const std::int64_t batch : {1, 16, 64, 200}) {
      InferenceRecord r;
      r.id = fmt::format("{}-{}", model, batch), r.judged_as = "decode_phase", r.phase = "decode", r.model = model;
      r.gpu = "H100-SXM-80GB", r.engine = "vLLM", r.version = "0.6.0", r.weights = "bf16", r.tp = 8;
      r.prompt = 900, r.output = 200, r.batch = batch, r.measured["decode_step_ms"] = 1;
      r.measured["decode_step_ms"] = forecast(r, {&engine})->predicted;
      records.push_back(r);
    }
  const auto fits = fit_tunings(records, std::span(&engine, 1));
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].records, 12);
  EXPECT_EQ(fits[0].networks, 3);
  EXPECT_LT(fits[0].error, 0.002);
  EXPECT_LT(fits[0].held_out, 0.01);
  EXPECT_NEAR(fits[0].tuning.host_per_iteration.value(), 3e-3, 2e-4);
  EXPECT_NEAR(fits[0].tuning.host_per_sequence.value(), 4e-5, 1e-5);
  EXPECT_NEAR(fits[0].tuning.keys_read_again, 0.3, 0.02);
  EXPECT_GT(fits[0].tuning.spread.p10, 0.985) << "nothing but what was left out widens it";
  EXPECT_LT(fits[0].tuning.spread.p90, 1.015);
  EXPECT_THAT(tunings_text(fits), HasSubstr("host_per_iteration 3"));
  EXPECT_EQ(find_tuning(with_fits(engine, fits), "hopper", "bf16")->spread.p10, fits[0].tuning.spread.p10);
}

/// Of a checkpoint "-FP8" the name tells weights; NVIDIA's have scales of the cache, and TensorRT-LLM builds both so.
TEST(InferRecords, CachesOfFp8CheckpointsAreTheEnginesOwn) {
  const auto predicted = [](const char* engine, const char* model, const char* cache) {
    InferenceRecord r;
    r.id = "one", r.judged_as = "decode_phase", r.phase = "decode", r.model = model, r.gpu = "H100-SXM-80GB";
    r.engine = engine, r.version = "0.19.0", r.weights = "fp8", r.cache = cache, r.tp = 8;
    r.prompt = 8000, r.output = 200, r.batch = 64, r.measured["decode_step_ms"] = 1;
    return forecast(r).value().predicted;
  };
  const char *bare = "meta-llama/Llama-3.1-70B-Instruct", *of_nvidia = "nvidia/Llama-3.1-8B-Instruct-FP8";
  EXPECT_EQ(predicted("vLLM", bare, ""), predicted("vLLM", bare, "bf16"));
  EXPECT_NE(predicted("vLLM", bare, ""), predicted("vLLM", bare, "fp8"));
  EXPECT_EQ(predicted("vLLM", of_nvidia, ""), predicted("vLLM", of_nvidia, "fp8"));
  EXPECT_EQ(predicted("TensorRT-LLM", bare, ""), predicted("TensorRT-LLM", bare, "fp8"));
}

/// 1,024 words of a network of 140 GB cannot be said by one GPU in a second.
TEST(InferRecords, TimesThatNoMemoryAllowsAreRefused) {
  InferenceRecord r;
  r.id = "early end", r.phase = "static_batch", r.model = "llama2-70b", r.gpu = "H100-SXM-80GB", r.engine = "vLLM";
  r.weights = "bf16", r.tp = 4, r.prompt = 1024, r.output = 1024, r.batch = 1, r.measured["e2e_s"] = 1;
  const auto made = forecast(r);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("memory cannot be read"));
  r.measured["e2e_s"] = 20;
  EXPECT_TRUE(forecast(r));
}

/// Of one setting 10 requests a second are served where all come at once: 8 a second are 80 % of that, and are listed
/// apart from 9.5.
TEST(InferRecords, OpenLoopsFarFromSaturationHaveARowOfTheirOwn) {
  const auto line = [](const std::string& id, const std::string& rate, const std::string& served) {
    return R"({"id": ")" + id + R"(", "judged_as": "open_loop", "phase": "serving", "model": {"id": "llama3-8b"},
      "hardware": {"gpu": "H100-SXM-80GB", "count": 1}, "software": {"name": "TensorRT-LLM", "version": "0.14.0"},
      "precision": {"weights": "bf16"}, "parallel": {"tp": 1}, "workload": {"isl": 512, "osl": 64,
      "num_requests": 40, "request_rate": )" +
           rate + R"(}, "measured": {"itl_ms": 9, "requests_per_s": )" + served + "}}";
  };
  std::string text =
      "[" + line("all", "null", "10") + "," + line("far", "8", "8") + "," + line("near", "9.5", "9.4") + "]";
  const std::string path = testing_program::own_path("open.json");
  std::ofstream(path) << text;
  const auto ran = run_line("validate " + path + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto answer = nlohmann::json::parse(ran.out);
  std::map<std::string, double> loads;
  for (const auto& made : answer.at("cases")) loads[made.at("id")] = made.value("load", 0.0);
  EXPECT_THAT(
      loads, testing::ElementsAre(testing::Pair("all", 0), testing::Pair("far", 0.8), testing::Pair("near", 0.95)));
  std::map<std::string, int> rows;
  for (const auto& row : answer.at("lists")) rows[row.at("of")] = row.at("records");
  EXPECT_EQ(rows.at(""), 3);
  EXPECT_EQ(rows.at("below 90 % load"), 1);
  EXPECT_EQ(rows.size(), 2U) << "of one engine";
}

/// Each network is forecast by a fit on the other one: made by a host of 3 ms, both fits find it, whatever the row
/// says.
TEST(InferRecords, NetworksAreForecastByFitsWithoutThem) {
  Engine engine = **find_row(built_in().engines, "vllm-v0", "engine");
  for (Engine::Tuning& row : engine.tunings)
    if (row.architecture == "hopper" && row.products_in.empty()) row.host_per_iteration = Seconds(30e-3);
  std::vector<InferenceRecord> records;
  for (const char* model : {"llama3-8b", "llama3-70b"})
    for (const std::int64_t batch : {1, 16, 64, 200}) {
      InferenceRecord r;
      r.id = fmt::format("{}-{}", model, batch), r.judged_as = "decode_phase", r.phase = "decode", r.model = model;
      r.gpu = "H100-SXM-80GB", r.engine = "vLLM", r.version = "0.6.0", r.weights = "bf16", r.tp = 8;
      r.prompt = 900, r.output = 200, r.batch = batch, r.measured["decode_step_ms"] = 1;
      r.measured["decode_step_ms"] = forecast(r, {&engine})->predicted;
      records.push_back(r);
    }
  InferenceJudgement judgement = judge(records);
  for (const InferenceCase& made : judgement.cases) EXPECT_LT(made.error(), -0.3) << "by the row as it is";
  const auto row = **find_row(built_in().engines, "vllm-v0", "engine");
  hold_out(judgement, fit_tunings(records, std::span(&row, 1)));
  for (const InferenceCase& made : judgement.cases) {
    EXPECT_TRUE(made.held_out) << made.id;
    EXPECT_NEAR(made.error(), 0, 0.01) << made.id;
    EXPECT_LT(made.low, made.predicted);
  }
  EXPECT_THAT(judgement_text(judgement), HasSubstr("8 of 8 forecasts are by fits without the record's network"));
}

/// Records of phases are forecast; others are skipped with the reason, in lines and in lists.
TEST(InferRecords, RecordsAreJudged) {
  std::string line = record;
  std::erase(line, '\n');
  const std::string serving_line = R"({"id": "two", "phase": "serving", "model": {"id": "meta-llama/Llama-2-70b-hf"},
    "hardware": {"gpu": "H100-SXM-80GB"}, "software": {"name": "vLLM", "version": "0.6.3"}, "workload": {}})";
  std::string other = serving_line;
  std::erase(other, '\n');
  std::string card = line;
  card.replace(card.find("H100-SXM-80GB"), 13, "Abacus 9000");
  const std::string path = testing_program::own_path("records.jsonl");
  std::ofstream(path) << line << "\n" << other << "\n" << card << "\n";
  const auto ran = run_line("validate " + path + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto answer = nlohmann::json::parse(ran.out);
  ASSERT_EQ(answer.at("cases").size(), 1U);
  const auto& made = answer.at("cases")[0];
  EXPECT_EQ(made.at("metric"), "decode_step_ms");
  const double forecast = decode(serving("llama2-70b", "dgx-h100", 8), 4, 512 + 64).time.value() * 1e3;
  EXPECT_NEAR(made.at("predicted").get<double>(), forecast, 1e-9);
  EXPECT_NEAR(made.at("error").get<double>(), forecast / 12.5 - 1, 1e-9);
  EXPECT_LT(made.at("interval")[0].get<double>(), forecast);
  ASSERT_EQ(answer.at("skipped").size(), 2U);
  EXPECT_THAT(answer.at("skipped")[1].at("why").get<std::string>(), HasSubstr("Abacus"));
  std::ofstream(path) << "[" << line << "]";
  EXPECT_EQ(nlohmann::json::parse(run_line("validate " + path + " --json").out).at("cases").size(), 1U);
  EXPECT_THAT(run_line("validate " + path).out, HasSubstr("decode_phase"));
  std::ofstream(path) << line << "\n{\"workload\": \"phase\"\n";
  EXPECT_THAT(run_line("validate " + path).err, HasSubstr("no JSON"));
}

TEST(InferRecords, PhasesOfPlainPyTorchAreForecastByALawOfEitherProfile) {
  std::string line = record;
  std::erase(line, '\n');
  const auto put = [&line](const std::string& part, const std::string& other) {
    line.replace(line.find(part), part.size(), other);
  };
  put("meta-llama/Llama-2-70b-hf", "llama3-8b"), put("\"vLLM\"", "\"PyTorch\""), put("\"tp\": 8", "\"tp\": 1");
  const std::string path = testing_program::own_path("phases.jsonl");
  std::ofstream(path) << line << "\n";
  const auto predicted = [&](const std::string& more) {
    const auto ran = run_line("validate " + path + " --json" + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto made = nlohmann::json::parse(ran.out).at("cases").at(0);
    EXPECT_EQ(made.at("engine"), "pytorch");
    return made.at("predicted").get<double>();
  };
  EXPECT_NE(predicted(""), predicted(" --profile measured-h100-sxm"));
  EXPECT_THAT(run_line("validate " + path + " --cases").out, AllOf(HasSubstr("decode_step_ms"), HasSubstr(" %")));
  for (const char* flag : {"--unfitted", "--csv"})
    EXPECT_THAT(run_line("validate " + path + " " + flag).err, HasSubstr("says nothing of records of inference"));
  EXPECT_THAT(run_line("validate " + path + " --profile measured-h200-sxm").err,
      HasSubstr("no record is forecast: measured-h200-sxm is of h200-sxm"));
  EXPECT_THAT(run_line("validate " + path + " --profile nobodys").err, HasSubstr("--profile: unknown profile"));
  EXPECT_THAT(run_line("validate " + path + " --hold-out --profile measured-h100-sxm").err,
      HasSubstr("without a record's network take the default profile"));
  EXPECT_THAT(run_line("validate --profile measured-h100-sxm").err, HasSubstr("default profile of each GPU"));
}

}  // namespace
}  // namespace stepcast::infer
