#include "studies/launch/read/logged_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/catalog.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/limits/understood.h"

namespace stepcast::launch {
namespace {

const Machine* machine_of_hint(const std::string& name) {
  const auto machine = find_row(built_in().machines, name, "machine");
  return machine ? *machine : nullptr;
}

std::string_view network_words(FabricKind fabric) {
  return fabric == FabricKind::infiniband ? "InfiniBand" : "Ethernet";
}

/// A machine's own figures, so that the record's machine is this one and not another with its GPU.
void take_machine(const Machine& machine, RunHardware& hardware) {
  constexpr double to_gbit = 8e-9, to_gb = 1e-9;
  const Level& node = machine.levels.front();
  hardware.gpu = machine.gpu.id;
  hardware.gpus_per_node = node.gpus;
  if (node.bandwidth_per_gpu.value() > 0) hardware.intra_node_gb_per_s = to_gb * node.bandwidth_per_gpu.value();
  if (machine.levels.size() < 2) return;
  const Level& cluster = machine.levels.back();
  hardware.inter_node_gbit_per_s = to_gbit * cluster.bandwidth_per_gpu.value();
  hardware.inter_node = fmt::format("{}, {} HCAs", network_words(cluster.fabric), cluster.ports);
}

double most_peak_memory(const TrainingLog& log) {
  double most = 0;
  for (const LoggedStep& step : log.steps) most = std::max(most, step.peak_memory.value());
  return most;
}

void take_measured(const TrainingLog& log, const SteadyStep& steady, RunMeasured& measured) {
  constexpr double to_gb = 1e-9;
  measured.step_time_s = steady.median.value();
  measured.p10_s = steady.p10.value();
  measured.p90_s = steady.p90.value();
  measured.step_time_source = "log";
  if (const double rate = log.steps.back().tflops_per_gpu; rate > 0) measured.tflops_per_gpu = rate;
  if (const double memory = most_peak_memory(log); memory > 0) measured.peak_memory_gb = to_gb * memory;
}

/// A ramp or another run's arguments: the lines tell which batch was trained.
Expected<void> check_logged_batch(const TrainingLog& log, const Run& run) {
  const std::int64_t logged = log.steps.back().global_batch;
  if (logged == 0 || logged == run.global_batch) return {};
  return fail(fmt::format("{}:{}", log.where, log.steps.back().line),
      fmt::format("a global batch of {}, but the arguments say {}", logged, run.global_batch),
      "the arguments belong to another run, or the batch was still ramping up");
}

/// What the log tells of how its run was started, as a launch that was read.
Launch launch_of_log(const TrainingLog& log, const Framework& framework) {
  Launch launch;
  launch.framework = &framework;
  launch.where = log.where;
  launch.environment = log.environment;
  launch.gpus = log.gpus, launch.gpus_per_node = log.gpus_per_node;
  launch.logged_batch = log.steps.back().global_batch;
  for (const auto& [name, value] : log.arguments) launch.arguments.push_back({name, name, value, 0, {}});
  return launch;
}

Expected<LaunchHints> launch_hints_of(const LoggedRunHints& said) {
  LaunchHints hints;
  hints.gpus = said.gpus;
  hints.must_agree = false;
  hints.lenient = true;  // what was measured is a record, whatever is not known of it
  hints.how_to_name = "--network ID, of a network in the catalogue (stepcast list networks)";
  if (said.network.empty()) return hints;
  TRY(const auto row, find_row(built_in().networks, said.network, "network"));
  hints.network = Chosen<NetworkSpec>{*row, row->id};
  return hints;
}

}  // namespace

Expected<RunHardware> logged_hardware(const TrainingLog& log, const LoggedRunHints& hints, std::int64_t gpus_per_node,
    std::vector<std::string>& assumptions) {
  RunHardware hardware;
  if (const std::string& hint = hints.machine; !hint.empty()) {
    if (const Machine* machine = machine_of_hint(hint)) return take_machine(*machine, hardware), hardware;
    const auto gpu = find_row(built_in().gpus, hint, "GPU");
    if (!gpu) return tl::unexpected(Error{"--machine", gpu.error().what, "stepcast list machines"});
    hardware.gpu = (*gpu)->id;
  } else {
    hardware.gpu = gpu_of_device(log.device);
    if (hardware.gpu.empty())
      return fail(log.where,
          log.device.empty() ? "the log does not name its GPU"
                             : fmt::format("a GPU '{:.60}' that the catalogue does not know", log.device),
          "--machine (stepcast list machines)");
    assumptions.push_back(fmt::format("GPU {} by its name '{}'", hardware.gpu, log.device));
  }
  if (log.gpus_per_node > 0) hardware.gpus_per_node = log.gpus_per_node;
  else if (gpus_per_node > 0) hardware.gpus_per_node = gpus_per_node;
  return hardware;
}

Expected<LoggedRun> logged_run(const TrainingLog& log, const LoggedRunHints& hints) {
  if (auto good = need_arguments(log); !good && hints.network.empty()) return tl::unexpected(good.error());
  const Framework* framework = find_framework(log.framework);
  if (framework == nullptr)
    return fail(log.where, fmt::format("no program '{:.40}'", log.framework),
        "a log of megatron, nemo, torchtitan or deepspeed");
  TRY(const auto said, launch_hints_of(hints));
  LoggedRun out;
  out.assumptions = log.notes;
  const Launch launch = launch_of_log(log, *framework);
  LaunchAnswers answers(launch);
  TRY(auto launched, read_launched_run(launch, said, answers, out.assumptions));

  out.assumptions.insert(out.assumptions.end(), launched.warnings.begin(), launched.warnings.end());
  Run& run = out.run;
  run = std::move(launched.run);
  run.id = last_of_path(log.where);
  run.source = log.where;
  run.kind = "pretrain", run.quality = "own";
  run.date = log.date;
  TRY(auto hardware, logged_hardware(log, hints, answers.count(Asked::gpus_per_node, 0), out.assumptions));
  run.hardware = std::move(hardware);
  TRY(check_logged_batch(log, run));

  TrainingLog timed = log;
  const double samples = static_cast<double>(run.global_batch);
  const double tokens = samples * static_cast<double>(run.model.seq_len.value_or(0));
  TRY(time_steps(timed, tokens / static_cast<double>(run.parallel.gpus), samples));
  TRY(auto steady, steady_step(timed));
  out.steady = std::move(steady);
  take_measured(timed, out.steady, run.measured);
  if (const auto unknown = unknown_arguments(launch); !unknown.empty())
    out.assumptions.push_back(fmt::format("not taken into account: {}", fmt::join(unknown, "; ")));
  for (std::string& text : answers.left_over(run.model.experts.has_value())) out.assumptions.push_back(std::move(text));
  return out;
}

}  // namespace stepcast::launch
