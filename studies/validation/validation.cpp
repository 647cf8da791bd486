#include "studies/validation/validation.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <variant>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/network/network.h"
#include "sim/cost.h"
#include "studies/records/step_fitting.h"
#include "studies/run/forecast.h"
#include "studies/records/doubts.h"
#include "studies/records/run_doubts.h"
#include "studies/records/run_scenario.h"

namespace stepcast::validation {
namespace {

/// A peak of PyTorch's allocator leaves out the CUDA context and what the allocator loses, and is the only figure that
/// sources agree on; reserved and device-level ones hold what each framework happens to keep.
void compare_memory(ValidatedCase& row, const Run& run, const MemoryReport& memory) {
  if (!run.measured.peak_memory_gb || !run.measured.peak_memory_kind) return;
  if (run.measured.peak_memory_kind->find("allocated") == std::string::npos) return;
  const bool binary = run.measured.peak_memory_kind->find("GiB") != std::string::npos;
  row.measured_memory = *run.measured.peak_memory_gb * (binary ? 1024.0 * 1024 * 1024 : 1e9);
  row.predicted_memory = (memory.peak - memory.framework).value();
}

/// What speaks against records beyond what is known of them.
void add_doubts(std::vector<ValidatedCase>& cases) {
  std::vector<CheckedRun> runs;
  for (const ValidatedCase& one : cases)
    if (one.doubt.empty()) runs.push_back(one.checked);
  const auto found = doubts_found(runs);
  for (ValidatedCase& one : cases)
    if (const auto reason = found.find(one.id); reason != found.end()) one.doubt = reason->second;
}

using RunOutcome = std::variant<std::monostate, ValidatedCase, SkippedRun>;

/// Without fits the laws alone: not even what is usual of software on other GPUs.
Expected<Prediction> forecast_with(const Scenario& scenario, Fits fits) {
  if (fits == Fits::used) return run::predict(scenario);
  return run::predict_as_laid(scenario, CostModel(scenario.machine.row, scenario.profile.row, scenario.stack.row,
                                            scenario.plan.precision, scenario.plan.gpus, nullptr));
}

RunOutcome forecast_run(const Run& run, Fits fits) {
  if (!run.measured.step_time_s) return SkippedRun{run.id, "measured/step_time_s: the record has no time"};
  auto made = scenario_of(run);
  if (!made) return SkippedRun{run.id, to_text(made.error())};
  Scenario& scenario = made->scenario;
  const Precision precision = scenario.plan.precision;
  if (fits == Fits::ignored) scenario.profile.row.steps.clear();
  else if (const auto found = step_fit(scenario); found.fit) made->assumptions.push_back(fit_remark(scenario, found));
  const auto prediction = forecast_with(scenario, fits);
  if (!prediction) return SkippedRun{run.id, to_text(prediction.error())};
  const StepReport& step = prediction->step;
  ValidatedCase row;
  row.id = run.id;
  row.source = run.source.substr(0, run.source.find('@'));
  row.gpu = run.hardware.gpu;
  row.precision = to_text(precision);
  row.kind = kind_of(run, scenario);
  row.stack = scenario.stack.id;
  row.group = fmt::format(
      "{} on {} GPUs, batch {} x {}", run.model.name, run.parallel.gpus, run.global_batch, scenario.plan.sequence);
  row.measured_s = *run.measured.step_time_s;
  row.predicted_s = step.step_time.value();
  row.low_s = step.p10.value();
  row.high_s = step.p90.value();
  row.error = row.predicted_s / row.measured_s - 1;
  row.model_flops = prediction->model_flops.value();
  row.gpus = static_cast<double>(run.parallel.gpus);
  row.doubt = doubt_about(run);
  row.checked = checked_run(run, scenario, row.predicted_s);
  row.time_reported = run.measured.step_time_source.find("tflops") == std::string::npos &&
                      run.measured.step_time_source.find("mfu") == std::string::npos;
  row.assumptions = std::move(made->assumptions);
  // What ran did fit: the record lacks a word about its split or about what runs again.
  if (!step.memory.fits)
    row.assumptions.push_back(fmt::format(
        "as forecast it needs {} of {}", format_bytes(step.memory.peak), format_bytes(step.memory.capacity)));
  compare_memory(row, run, step.memory);
  return row;
}

std::vector<RunOutcome> forecast_all(const std::vector<Run>& runs, Fits fits) {
  std::vector<RunOutcome> outcomes(runs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) outcomes[i] = forecast_run(runs[i], fits);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return outcomes;
}

double coverage_of(const std::vector<const ValidatedCase*>& rows) {
  const auto inside = std::count_if(rows.begin(), rows.end(),
      [](const ValidatedCase* row) { return row->low_s <= row->measured_s && row->measured_s <= row->high_s; });
  return rows.empty() ? 0 : static_cast<double>(inside) / static_cast<double>(rows.size());
}

double baseline_of(const std::vector<const ValidatedCase*>& rows) {
  std::vector<double> rates, errors;
  for (const ValidatedCase* row : rows) rates.push_back(row->rate());
  const double usual = median(rates);
  for (const double rate : rates) errors.push_back(rate / usual - 1);
  return summarise(errors).mape;
}

ValidatedClass class_row(
    const std::string& name, const std::vector<const ValidatedCase*>& rows, const std::vector<RankedGroup>& groups) {
  ValidatedClass row;
  row.name = name;
  std::vector<double> errors, memory;
  for (const ValidatedCase* one : rows) {
    errors.push_back(one->error);
    if (one->measured_memory > 0) memory.push_back(one->predicted_memory / one->measured_memory - 1);
  }
  row.error = summarise(errors);
  row.memory = summarise(memory);
  row.baseline_mape = baseline_of(rows);
  row.coverage = coverage_of(rows);
  for (const RankedGroup& group : groups) {
    if (group.class_name != name) continue;
    ++row.groups;
    row.spearman += group.spearman;
    row.regret += group.regret;
  }
  if (row.groups == 0) return row;
  row.spearman /= static_cast<double>(row.groups);
  row.regret /= static_cast<double>(row.groups);
  return row;
}

}  // namespace

std::vector<RankedGroup> ranked_groups(const std::vector<ValidatedCase>& cases) {
  constexpr std::size_t fewest = 4;
  std::map<std::pair<std::string, std::string>, std::vector<const ValidatedCase*>> by_group;
  for (const ValidatedCase& one : cases) by_group[{one.class_name(), one.group}].push_back(&one);
  std::vector<RankedGroup> groups;
  for (const auto& [key, rows] : by_group) {
    if (rows.size() < fewest) continue;
    std::vector<double> predicted, measured;
    for (const ValidatedCase* one : rows) predicted.push_back(one->predicted_s), measured.push_back(one->measured_s);
    groups.push_back({key.second, key.first, rows.size(), spearman(predicted, measured), regret(predicted, measured)});
  }
  return groups;
}

std::vector<ValidatedClass> class_rows(
    const std::vector<ValidatedCase>& cases, const std::vector<RankedGroup>& groups) {
  std::map<std::string, std::vector<const ValidatedCase*>> by_class, by_source;
  for (const ValidatedCase& one : cases)
    by_class[one.class_name()].push_back(&one), by_source[one.source].push_back(&one);
  std::vector<ValidatedClass> rows;
  for (const auto& [name, members] : by_class) rows.push_back(class_row(name, members, groups));
  const auto larger = [](const ValidatedClass& a, const ValidatedClass& b) { return a.error.n > b.error.n; };
  std::stable_sort(rows.begin(), rows.end(), larger);
  const auto classes = static_cast<std::ptrdiff_t>(rows.size());
  for (const auto& [name, members] : by_source) {
    rows.push_back(class_row(name, members, groups));
    rows.back().by_source = true;
  }
  std::stable_sort(rows.begin() + classes, rows.end(), larger);
  return rows;
}

Validation validate_runs(const std::vector<Run>& runs, Fits fits) {
  Validation result;
  for (RunOutcome& outcome : forecast_all(runs, fits)) {
    if (auto* row = std::get_if<ValidatedCase>(&outcome)) result.cases.push_back(std::move(*row));
    if (auto* skipped = std::get_if<SkippedRun>(&outcome)) result.skipped.push_back(std::move(*skipped));
  }
  add_doubts(result.cases);
  result.groups = ranked_groups(result.cases);
  result.classes = class_rows(result.cases, result.groups);
  std::vector<double> errors, sound_errors;
  std::vector<const ValidatedCase*> all, sound;
  for (const ValidatedCase& one : result.cases) {
    errors.push_back(one.error), all.push_back(&one);
    if (one.doubt.empty()) sound_errors.push_back(one.error), sound.push_back(&one);
  }
  result.all = summarise(errors), result.sound = summarise(sound_errors);
  result.coverage = coverage_of(all), result.sound_coverage = coverage_of(sound);
  return result;
}

}  // namespace stepcast::validation
