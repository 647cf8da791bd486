// stepcast calibrate runs: from logs and records to a profile whose forecasts are nearer.
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "model/base/json_reader.h"
#include "studies/records/step_fitting.h"
#include "studies/run/forecast.h"
#include "studies/launch/read/logged_run.h"
#include "studies/records/embedded_runs.h"
#include "studies/records/run_scenario.h"
#include "tests/calibrate/import/sample_logs.h"
#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

/// A job as its log's argument dump tells it: Llama 3 8B on 16 GPUs with these arguments instead.
std::string dump_of(const Changes& changes) {
  auto arguments = sample_log::llama_arguments();
  for (const auto& [name, value] : changes)
    for (auto& [known, old] : arguments)
      if (known == name) old = value;
  return sample_log::megatron_dump(arguments);
}

std::string log_of(const Changes& changes, double seconds, int global_batch) {
  const double ms = 1000 * seconds;
  return dump_of(changes) + sample_log::megatron_steps({2 * ms, ms, ms, ms, ms}, global_batch);
}

Scenario scenario_of_log(const std::string& log) {
  const auto read = read_training_log(log, "job.log");
  EXPECT_TRUE(read.has_value());
  const auto run = logged_run(*read, {"dgx-h100", "", 0});
  EXPECT_TRUE(run.has_value()) << to_text(run.error());
  auto made = scenario_of(run->run);
  EXPECT_TRUE(made.has_value()) << to_text(made.error());
  return made->scenario;
}

double seconds_of(const Scenario& scenario) { return run::predict(scenario)->step.step_time.value(); }

void write_file(const std::string& name, const std::string& text) { std::ofstream(name) << text; }

std::vector<Run> shipped_records() {
  std::vector<Run> runs;
  for (const EmbeddedFile& file : embedded_runs()) {
    const auto read = read_runs(std::string(file.text), std::string(file.name));
    runs.insert(runs.end(), read->begin(), read->end());
  }
  return runs;
}

/// A cluster whose products take 1.3 times what its profile says.
double measured_of(const Changes& changes, int batch) {
  Scenario scenario = scenario_of_log(log_of(changes, 1, batch));
  StepFit slow;
  slow.stack = scenario.stack.row.id, slow.precision = scenario.plan.precision;
  slow.values = {{StepParameter::products, 1.45}};
  scenario.profile.row.steps = {slow};
  return seconds_of(scenario);
}

TEST(CalibrateRuns, TwoLogsBringTheForecastOfAThirdNearer) {
  const Changes first = {{"tensor_model_parallel_size", "2"}},
                second = {{"tensor_model_parallel_size", "4"}, {"micro_batch_size", "2"}},
                third = {{"tensor_model_parallel_size", "1"}, {"pipeline_model_parallel_size", "2"},
                    {"sequence_parallel", "False"}, {"global_batch_size", "256"}};
  const std::string a = testing_program::own_path("a.log"), b = testing_program::own_path("b.log"),
                    profile = testing_program::own_path("p.json");
  write_file(a, log_of(first, measured_of(first, 128), 128));
  write_file(b, log_of(second, measured_of(second, 128), 128));
  const auto ran = testing_program::run_line("calibrate runs " + a + " " + b + " --machine dgx-h100 -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("megatron-core bf16"), std::string::npos) << ran.out;

  Scenario scenario = scenario_of_log(log_of(third, 1, 256));
  const double measured = measured_of(third, 256), before = seconds_of(scenario);
  const auto read = read_profile(*read_text_file(profile), profile);
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  scenario.profile.row = *read;
  const double after = seconds_of(scenario);
  EXPECT_LT(std::abs(after / measured - 1), 0.5 * std::abs(before / measured - 1))
      << before << " -> " << after << " of " << measured;
}

TEST(CalibrateRuns, TwoRunsThatAgreeMakeNoNarrowInterval) {
  // Exactly as forecast: their ratios say 2 %, and two ratios say little.
  const Changes first = {}, second = {{"tensor_model_parallel_size", "4"}, {"micro_batch_size", "2"}};
  const std::string a = testing_program::own_path("a.log"), b = testing_program::own_path("b.log"),
                    profile = testing_program::own_path("p.json");
  const Scenario scenario = scenario_of_log(log_of(first, 1, 128));
  write_file(a, log_of(first, seconds_of(scenario), 128));
  write_file(b, log_of(second, seconds_of(scenario_of_log(log_of(second, 1, 128))), 128));
  const auto ran = testing_program::run_line("calibrate runs " + a + " " + b + " --machine dgx-h100 -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto read = read_profile(*read_text_file(profile), profile);
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  const FoundFit found = find_step_fit(*read, scenario.stack.row, scenario.plan.precision, false);
  ASSERT_TRUE(found.fit && found.fit->runs == 2);
  const Spread& usual = scenario.profile.row.step_spread;
  EXPECT_LT(found.fit->spread.p10, 1 - 0.75 * (1 - usual.p10));
  EXPECT_GT(found.fit->spread.p90, 1 + 0.75 * (usual.p90 - 1));
  // One pair of one job, which differs by nothing: a quarter of what three jobs' worth of belief says.
  EXPECT_EQ(found.fit->pairs, 1);
  EXPECT_GT(found.fit->pair_spread, 0.8 * usual_pair_spread(false));
  EXPECT_LT(found.fit->pair_spread, usual_pair_spread(false));
}

TEST(CalibrateRuns, ASingleLogKeepsWhatIsKnownOfPairs) {
  const std::string log = testing_program::own_path("a.log"), profile = testing_program::own_path("p.json");
  write_file(log, log_of({}, 10, 128));
  const auto ran = testing_program::run_line("calibrate runs " + log + " --machine dgx-b200 -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto read = read_profile(*read_text_file(profile), profile);
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  const Stack& stack = **find_row(built_in().stacks, "megatron-core", "stack");
  const auto shipped =
      find_step_fit(**find_row(built_in().profiles, "b200-sxm", "profile"), stack, Precision::bf16, false).fit;
  const auto own = find_step_fit(*read, stack, Precision::bf16, false).fit;
  ASSERT_TRUE(own && shipped && shipped->pairs > 0);
  EXPECT_EQ(own->source, log);
  EXPECT_EQ(own->pairs, shipped->pairs);
  EXPECT_EQ(own->pair_spread, shipped->pair_spread);
}

TEST(CalibrateRuns, TwoPublishedRunsBringOthersOfTheirSoftwareNearer) {
  // vTrain's cluster: every pair of neighbours in the list forecasts the next run.
  std::vector<MeasuredRun> runs;
  for (const records::Run& record : shipped_records())
    if (record.source.starts_with("VIA-Research/vTrain"))
      if (auto run = measured_run(record); run && run->witness) {
        run->scenario.profile.row.steps.clear();
        runs.push_back(std::move(*run));
      }
  ASSERT_GT(runs.size(), 20u);
  double before = 0, after = 0;
  for (std::size_t i = 0; i + 2 < runs.size(); i += 3) {
    FitPool pool;
    pool.stack = runs[i].scenario.stack.row.id, pool.precision = runs[i].scenario.plan.precision;
    pool.members = {i, i + 1};
    fit_pool(pool, runs, {});
    const StepFit fit = fit_row(pool, runs);
    const std::vector<std::size_t> next = {i + 2};
    before += std::abs(forecast_steps(runs, next, nullptr)[0] / runs[i + 2].seconds - 1);
    after += std::abs(forecast_steps(runs, next, &fit)[0] / runs[i + 2].seconds - 1);
  }
  EXPECT_LT(after, before);
}

TEST(CalibrateRuns, RecordsGiveParametersWithUnitsRangesAndMeaning) {
  const std::string records = testing_program::own_path("runs.json");
  nlohmann::json chosen = nlohmann::json::array();
  for (const EmbeddedFile& file : embedded_runs())
    for (const auto& row : nlohmann::json::parse(file.text))
      if (row.at("id").get<std::string>().starts_with("korthikanti22")) chosen.push_back(row);
  write_file(records, chosen.dump());
  const auto ran = testing_program::run_line("calibrate runs " + records + " --leave-out model --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto fit = nlohmann::json::parse(ran.out).at("fits").at(0);
  EXPECT_EQ(fit.at("stack"), "megatron-2022");
  EXPECT_EQ(fit.at("left_out"), "model");
  EXPECT_EQ(fit.at("runs"), chosen.size());
  ASSERT_LE(fit.at("parameters").size(), 3u);
  for (const auto& parameter : fit.at("parameters")) {
    EXPECT_GE(parameter.at("value"), parameter.at("plausible")[0]);
    EXPECT_LE(parameter.at("value"), parameter.at("plausible")[1]);
    EXPECT_GT(parameter.at("meaning").get<std::string>().size(), 30u);
  }
  EXPECT_LE(fit.at("mape"), fit.at("held_out_mape"));
  EXPECT_EQ(fit.at("cases").size(), chosen.size());
}

TEST(CalibrateRuns, ChosenParametersAreFitted) {
  const std::string records = testing_program::own_path("runs.json");
  nlohmann::json chosen = nlohmann::json::array();
  for (const EmbeddedFile& file : embedded_runs())
    for (const auto& row : nlohmann::json::parse(file.text))
      if (row.at("id").get<std::string>().starts_with("korthikanti22-175B")) chosen.push_back(row);
  write_file(records, chosen.dump());
  const auto ran = testing_program::run_line("calibrate runs " + records + " --parameters memory --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto parameters = nlohmann::json::parse(ran.out).at("fits").at(0).at("parameters");
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].at("name"), "memory");
}

TEST(CalibrateRuns, LogsWhoseLinesBeginWithABracketAreNoRecords) {
  const std::vector<std::pair<std::string, std::string>> logs = {{"nemo", sample_log::nemo_log},
      {"pytorch-fsdp", sample_log::torchtitan_log({"400", "6,100", "6,150", "6,120"})},
      {"deepspeed-zero", sample_log::deepspeed_log}};
  for (const auto& [stack, text] : logs) {
    const std::string log = testing_program::own_path(stack + ".log");
    write_file(log, text);
    const auto ran = testing_program::run_line("calibrate runs " + log + " --machine dgx-h100");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with(stack + " ")) << ran.out;
  }
  const std::string bare = testing_program::own_path("bare.log"), script = testing_program::own_path("job.sh");
  write_file(bare, sample_log::megatron_steps(sample_log::settled_ms));
  write_file(script, sample_log::megatron_script);
  const auto ran =
      testing_program::run_line("calibrate runs " + bare + " --launch " + script + " --gpus 16 --machine dgx-h100");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("megatron-core ")) << ran.out;
}

TEST(CalibrateRuns, AValueAtTheEndOfItsRangeIsNamed) {
  const std::string log = testing_program::own_path("job.log"), words = " --machine dgx-h100 --parameters products";
  const double usual = seconds_of(scenario_of_log(log_of({}, 1, 128)));
  write_file(log, log_of({}, 4 * usual, 128));
  EXPECT_NE(
      testing_program::run_line("calibrate runs " + log + words).out.find("products at the end of the plausible range"),
      std::string::npos);
  write_file(log, log_of({}, 1.05 * usual, 128));
  const auto ran = testing_program::run_line("calibrate runs " + log + words);
  EXPECT_EQ(ran.out.find("at the end of"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(": 1 run\n"), std::string::npos) << ran.out;
}

std::string refusal(const std::string& arguments) {
  const auto ran = testing_program::run_line("calibrate runs " + arguments);
  EXPECT_EQ(ran.code, 2) << ran.out;
  return ran.err;
}

TEST(CalibrateRuns, WrongInputIsExplained) {
  const std::string log = testing_program::own_path("job.log");
  write_file(log, log_of({}, 5, 128));
  const std::string words = log + " --machine dgx-h100";
  EXPECT_NE(refusal("no-such.log").find("no-such.log"), std::string::npos);
  EXPECT_NE(refusal(words + " --parameters product").find("did you mean 'products'"), std::string::npos);
  EXPECT_NE(refusal(words + " --parameters products,memory,attention,contention").find("at most 3"), std::string::npos);
  EXPECT_NE(refusal(words + " --parameters memory,products,memory").find("memory twice"), std::string::npos);
  EXPECT_NE(refusal(words + " --leave-out day").find("source, model, release or run"), std::string::npos);
  const std::string script = testing_program::own_path("job.sh");
  write_file(script, "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --bf16\n");
  EXPECT_NE(refusal(words + " --launch " + script + "," + script).find("--launch"), std::string::npos);
  EXPECT_NE(refusal(words + " --hold-out 0.2").find("does not go with calibrate runs"), std::string::npos);
  EXPECT_NE(refusal("").find("something is missing"), std::string::npos);
  const std::string bare = testing_program::own_path("bare.log");
  write_file(bare, sample_log::megatron_steps(sample_log::settled_ms));
  EXPECT_NE(refusal(bare + " --machine dgx-h100").find("--launch FILE"), std::string::npos);
  const std::string empty = testing_program::own_path("empty.json");
  write_file(empty, "[ ]");
  EXPECT_NE(refusal(empty).find("hold no record"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::calibration
