#include "studies/records/run_doubts.h"

#include <fmt/format.h>

#include "studies/run/forecast.h"

namespace stepcast::records {

namespace {

/// The part of its split that a record leaves unsaid and that decides its step; empty: none.
std::string untold_split(const Run& run, const Scenario& scenario) {
  const bool split_matters = run.parallel.gpus > run.parallel.pp;
  if (scenario.network.row.experts.count == 0 || run.parallel.ep || !split_matters) return {};
  return "over how many ranks its experts are split (parallel/ep)";
}

}  // namespace

std::string kind_of(const Run& run, const Scenario& scenario) {
  // packed documents: attention sees less than the sequence
  if (run.kind == "sft" || run.kind == "lora") return "tuning";
  if (run.kind == "profiled") return run.kind;
  if (scenario.network.row.vocab == 0) return "images";
  if (!scenario.network.row.causal || looks_at_encoder(scenario.network.row)) return "encoder";
  if (scenario.plan.sequence >= long_sequence) return "long";
  if (run.model.attention.value_or("") == "hybrid") return "hybrid";
  if (run.model.experts) return "moe";
  return scenario.plan.mapping.find("fsdp") != std::string::npos ? "sharded" : "dense";
}

CheckedRun checked_run(const Run& run, const Scenario& scenario, double forecast_s) {
  const RunParallel& p = run.parallel;
  const auto gpus = static_cast<double>(p.gpus);
  CheckedRun checked;
  checked.id = run.id, checked.micro_batch = scenario.plan.micro_batch;
  checked.group = fmt::format("{} {} {} {} {}", run.hardware.gpu, to_text(scenario.plan.precision),
      kind_of(run, scenario), scenario.stack.id, run.model.name);
  checked.sizes = fmt::format("{} GPUs, batch {} x {}, tp {} pp {} cp {} dp {} ep {} chunks {} zero {} {} {}", p.gpus,
      run.global_batch, scenario.plan.sequence, p.tp, p.pp, p.cp, p.dp, p.ep.value_or(0), p.chunks.value_or(0),
      p.zero_stage.value_or(-1), p.schedule.value_or(""), run.recompute.value_or(""));
  checked.untold = untold_split(run, scenario);
  checked.seconds = *run.measured.step_time_s, checked.forecast_s = forecast_s;
  checked.flops_per_s = run::step_model_flops(scenario).value() / checked.seconds / gpus;
  if (run.measured.tokens_per_s_per_gpu && run.model.seq_len)
    checked.seconds_by_tokens = static_cast<double>(*run.model.seq_len) * static_cast<double>(run.global_batch) /
                                (gpus * *run.measured.tokens_per_s_per_gpu);
  checked.peak_flops_per_s = scenario.machine.row.gpu.peak[static_cast<int>(scenario.plan.precision)].value();
  return checked;
}

std::map<std::string, std::string> find_doubts(std::vector<MeasuredRun>& runs, const std::vector<Run>& records) {
  std::map<std::string, const Run*> by_id;
  for (const Run& record : records) by_id[record.id] = &record;
  std::vector<CheckedRun> checked;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto record = by_id.find(runs[i].id);
    if (!runs[i].witness || record == by_id.end()) continue;
    const FoundFit found = step_fit(runs[i].scenario);
    const double forecast = forecast_steps(runs, {i}, found.fit ? &*found.fit : nullptr).front();
    checked.push_back(checked_run(*record->second, runs[i].scenario, forecast));
  }
  auto reasons = doubts_found(checked);
  for (MeasuredRun& run : runs) run.witness = run.witness && !reasons.contains(run.id);
  return reasons;
}

}  // namespace stepcast::records
