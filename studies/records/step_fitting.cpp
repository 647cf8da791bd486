
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "model/expert_launch.h"
#include "model/publication_scatter.h"
#include "sim/step.h"
#include "studies/records/step_fitting.h"
#include "studies/run/forecast.h"
#include "studies/records/doubts.h"
#include "studies/records/run_scenario.h"
#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

/// Links of a host that is one package with its GPU (NVLink-C2C) are faster than any PCIe slot, 128 GB/s with 16 lanes
/// of generation 6: such hosts have other CPUs, which launch kernels at another pace.
constexpr BytesPerSecond fastest_slot{2e11};

bool is_decoder_of_words(const NetworkSpec& spec) { return spec.causal && spec.vocab > 0 && !looks_at_encoder(spec); }

double seconds_of(const MeasuredRun& run, const StepFit* fit) {
  const Scenario& s = run.scenario;
  const CostModel cost(s.machine.row, s.profile.row, s.stack.row, s.plan.precision, run.program.ranks, fit);
  const auto step = step_time(run.program, cost);
  return step ? step->value() : 0;
}

template <typename Work> void on_all_processors(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::min<std::size_t>(std::thread::hardware_concurrency(), count); ++i)
    helpers.emplace_back(loop);
  loop();
  for (std::thread& helper : helpers) helper.join();
}

/// Seconds of `members` with `fit`, what nobody asked before on all processors.
void ask_steps(const std::vector<MeasuredRun>& runs, std::span<const std::size_t> members, const StepFit* fit,
    std::span<double> seconds) {
  const std::span<const StepValue> values =
      fit ? std::span<const StepValue>(fit->values) : std::span<const StepValue>();
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (const auto known = runs[members[i]].memo->seconds(values)) seconds[i] = *known;
    else unknown.push_back(i);
  }
  on_all_processors(unknown.size(), [&](std::size_t u) {
    const MeasuredRun& run = runs[members[unknown[u]]];
    run.memo->keep(values, seconds[unknown[u]] = seconds_of(run, fit));
  });
}

/// Rows of unnamed software have no name of their own.
const std::string& pool_name(const Scenario& s) {
  return s.stack.row.fitted_with.empty() ? s.stack.id : s.stack.row.fitted_with;
}

Leave leave_of(const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  for (const Leave leave : {Leave::source, pool.experts ? Leave::release : Leave::model, Leave::model})
    if (several_groups(pool, runs, leave)) return leave;
  return Leave::run;
}

std::vector<StepParameter> parameters_of(const Stack& stack, bool experts) {
  std::vector<StepParameter> parameters;
  for (const std::string& name :
      experts && !stack.expert_parameters.empty() ? stack.expert_parameters : stack.parameters)
    if (const auto parameter = parse_step_parameter(name, stack.id)) parameters.push_back(*parameter);
  return parameters;
}

/// Those that the stack names. Where nothing is known of them, no more than half as many as there are runs, for the
/// first ones say most; what a known fit holds stays, and moves as little as the runs ask for.
std::vector<StepParameter> usual_parameters(const FitPool& pool, const std::vector<MeasuredRun>& runs, bool known) {
  auto parameters = parameters_of(runs[pool.members.front()].scenario.stack.row, pool.experts);
  if (known) return parameters.empty() ? std::vector{StepParameter::products} : parameters;
  const auto witnesses =
      std::count_if(pool.members.begin(), pool.members.end(), [&](std::size_t i) { return runs[i].witness; });
  parameters.resize(std::min(parameters.size(), std::max<std::size_t>(1, static_cast<std::size_t>(witnesses) / 2)));
  return parameters;
}

/// Same shapes, GPUs with their network, batch, precision, software and month. Not the source, nor the network's name:
/// every log of a user's is its own.
std::string job_of(const Run& run, const Scenario& s) {
  NetworkSpec shapes = s.network.row;
  shapes.id = shapes.name = shapes.source = "", shapes.aliases.clear();
  return fmt::format("{} {} {:g} B/s, {} GPUs, batch {} x {}, {} {} {} {:.7}", write_network(shapes),
      s.machine.row.gpu.id, s.machine.row.levels.back().bandwidth_per_gpu.value(), s.plan.gpus, s.plan.global_batch,
      s.plan.sequence, to_text(s.plan.precision), s.stack.id, run.software.value_or(""), run.date);
}

/// What is believed of the pool's parameters before it is fitted, and how firmly.
struct Belief {
  std::vector<StepValue> start;
  double certainty = 1, pair_spread = 0;
};

Belief belief_of(const FitPool& pool, const std::vector<MeasuredRun>& runs, const FitWishes& wishes) {
  constexpr double of_own_fit = 3, of_borrowed = 1.75;
  const Scenario& s = runs[pool.members.front()].scenario;
  const FoundFit known = wishes.from_profile ? step_fit(s) : FoundFit{};
  const StepTuning believed = tuning_of(s.stack.row, s.profile.row, known.fit ? &*known.fit : nullptr);
  Belief belief;
  belief.pair_spread = pair_spread_of(known, pool.experts);
  if (known.fit) belief.certainty = known.borrowed ? of_borrowed : of_own_fit;
  for (const StepParameter parameter :
      wishes.parameters.empty() ? usual_parameters(pool, runs, known.fit.has_value()) : wishes.parameters) {
    const StepParameterRow& row = row_of(parameter);
    const bool unsaid = pool.experts && !known.fit && parameter == StepParameter::host_per_launch;
    const double start = unsaid ? launch_with_experts(s.stack.row) : believed[parameter];
    belief.start.push_back({parameter, std::clamp(start, row.low, row.high)});
  }
  return belief;
}

}  // namespace

std::string group_of(const MeasuredRun& run, Leave leave) {
  switch (leave) {
    case Leave::source: return run.source;
    case Leave::model: return run.model;
    case Leave::release: return run.release;
    case Leave::run: return run.id;
    case Leave::stack: return pool_name(run.scenario);
    case Leave::length: return run.scenario.plan.sequence < long_sequence ? "short" : "long";
    case Leave::gpu: return run.scenario.machine.row.gpu.id;
  }
  return run.id;
}

bool several_groups(const FitPool& pool, const std::vector<MeasuredRun>& runs, Leave leave) {
  std::set<std::string> groups;
  for (const std::size_t i : pool.members)
    if (runs[i].witness) groups.insert(group_of(runs[i], leave));
  return groups.size() > 1;
}

const char* to_text(Leave leave) {
  static constexpr const char* names[] = {"source", "model", "release", "run", "stack", "length", "gpu"};
  return names[static_cast<std::size_t>(leave)];
}

Expected<MeasuredRun> measured_run(const Run& run) {
  if (!run.measured.step_time_s) return fail(run.id, "the record has no time", "measured/step_time_s");
  TRY(auto made, scenario_of(run));
  const Scenario& scenario = made.scenario;
  TRY(auto program, lower(scenario.network.row, scenario.plan, scenario.stack.row, false));
  MeasuredRun out;
  out.id = run.id;
  out.source = run.source.substr(0, run.source.find('@'));
  out.release = out.source + " " + run.date;
  out.model = run.model.name;
  out.seconds = *run.measured.step_time_s;
  // adapters, packed documents, recorded kernels: other steps than those of training
  const bool tunes = run.kind == "lora" || run.kind == "sft";
  // encoders and images: other steps than those of decoders of words, which the fits are of
  const bool decodes = is_decoder_of_words(scenario.network.row);
  out.witness = !tunes && decodes && run.kind != "profiled" && !(run.software && stack_of(run).guessed) &&
                doubt_about(run).empty();
  out.program = std::move(program);
  out.scenario = std::move(made.scenario);
  out.job = job_of(run, out.scenario);
  out.split = fmt::format("{}\nmicro-batch {}", out.scenario.plan.mapping, out.scenario.plan.micro_batch);
  return out;
}

std::vector<MeasuredRun> measured_runs(const std::vector<Run>& records) {
  std::vector<std::optional<MeasuredRun>> made(records.size());
  on_all_processors(records.size(), [&](std::size_t i) {
    if (auto run = measured_run(records[i])) made[i] = std::move(*run);
  });
  std::vector<MeasuredRun> runs;
  for (auto& run : made)
    if (run) runs.push_back(std::move(*run));
  return runs;
}

std::string hardware_of(const Machine& machine, bool experts) {
  // a workstation's chip of that name
  if (machine.gpu.scale_up_bandwidth.value() <= 0) return machine.gpu.architecture + " card";
  return machine.gpu.architecture +
         (experts && machine.host_link > fastest_slot ? " in one package with its host" : "");
}

std::vector<FitPool> pools_of(const std::vector<MeasuredRun>& runs) {
  std::map<std::tuple<std::string, Precision, std::string, bool>, FitPool> pools;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Scenario& s = runs[i].scenario;
    const Precision own = runs[i].experts() || s.stack.row.joint_precisions ? Precision::bf16 : s.plan.precision;
    const std::string& name = pool_name(s);
    FitPool& pool = pools[{name, own, hardware_of(s.machine.row, runs[i].experts()), runs[i].experts()}];
    if (pool.members.empty()) pool.stack = name, pool.precision = s.plan.precision;
    pool.hardware = hardware_of(s.machine.row, runs[i].experts()), pool.experts = runs[i].experts();
    pool.members.push_back(i);
  }
  std::vector<FitPool> out;
  for (auto& [key, pool] : pools) out.push_back(std::move(pool));
  return out;
}

std::vector<double> forecast_steps(
    const std::vector<MeasuredRun>& runs, const std::vector<std::size_t>& members, const StepFit* fit) {
  std::vector<double> seconds(members.size());
  ask_steps(runs, members, fit, seconds);
  return seconds;
}

void fit_pool(FitPool& pool, const std::vector<MeasuredRun>& runs, const FitWishes& wishes) {
  pool.leave = wishes.leave.value_or(leave_of(pool, runs));
  std::vector<StepSample> steps;
  for (const std::size_t i : pool.members)
    steps.push_back({runs[i].seconds, group_of(runs[i], pool.leave), runs[i].witness, runs[i].job, runs[i].split});
  const StepForecasts forecasts = [&](std::span<const std::size_t> which, std::span<const StepValue> values,
                                      std::span<double> seconds) {
    StepFit fit;
    fit.values.assign(values.begin(), values.end());
    std::vector<std::size_t> members;
    for (const std::size_t i : which) members.push_back(pool.members[i]);
    ask_steps(runs, members, &fit, seconds);
  };
  const Belief belief = belief_of(pool, runs, wishes);
  StepFitOptions options{belief.start, to_text(pool.leave)};
  options.certainty = belief.certainty, options.pair_spread = belief.pair_spread;
  pool.result = fit_steps(steps, forecasts, options);
}

StepFit fit_row(const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  StepFit fit;
  fit.stack = pool.stack, fit.precision = pool.precision, fit.experts = pool.experts;
  fit.values = pool.result.values;
  fit.runs = pool.result.runs, fit.groups = pool.result.groups;
  if (fit.groups > 0) fit.left_out = to_text(pool.leave);
  fit.mape = pool.result.mape, fit.held_out_mape = pool.result.held_out_mape;
  fit.spread = pool.result.spread;
  if (pool.result.pairs.pairs > 0) fit.pairs = pool.result.pairs.pairs, fit.pair_spread = pool.result.pairs.spread;
  std::set<std::string> gpus, sources;
  for (const std::size_t i : pool.members) {
    if (!runs[i].witness) continue;
    gpus.insert(runs[i].scenario.machine.row.gpu.id);
    fit.most_gpus = std::max(fit.most_gpus, runs[i].scenario.plan.gpus);
    sources.insert(runs[i].source);
  }
  fit.gpus.assign(gpus.begin(), gpus.end());
  fit.source = fmt::format("{}", fmt::join(sources, "; "));
  return fit;
}

std::vector<StepFit> fit_rows(const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  std::set<Precision> precisions;
  for (const std::size_t i : pool.members) precisions.insert(runs[i].scenario.plan.precision);
  std::vector<StepFit> rows(precisions.size(), fit_row(pool, runs));
  std::size_t next = 0;
  for (const Precision precision : precisions) rows[next++].precision = precision;
  return rows;
}

// Runs of one publication share machine, release and settings, which other publications do not.
StepFit for_strangers(StepFit fit) {
  constexpr Doubt others{other_publication, other_publication};
  if (!fit.experts && fit.left_out != "source") fit.spread = widened(fit.spread, others);
  return fit;
}

void put_fit(Profile& profile, StepFit fit) {
  std::erase_if(profile.steps, [&](const StepFit& other) {
    return other.stack == fit.stack && other.precision == fit.precision && other.experts == fit.experts;
  });
  profile.steps.push_back(std::move(fit));
}

}  // namespace stepcast::records
