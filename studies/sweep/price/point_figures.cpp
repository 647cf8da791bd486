#include "studies/sweep/price/point_figures.h"

#include <cmath>
#include <limits>
#include <utility>

namespace stepcast::sweep {

void set_plan_figures(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack, Figures& figures) {
  const Split split = split_of(wishes, network, stack);
  for (const auto& [figure, value] :
      {std::pair{Figure::gpus, wishes.gpus}, {Figure::tp, wishes.tp}, {Figure::cp, wishes.cp}, {Figure::pp, wishes.pp},
          {Figure::dp, split.dp}, {Figure::ep, wishes.ep}, {Figure::etp, wishes.etp}, {Figure::chunks, split.chunks},
          {Figure::micro_batch, wishes.micro_batch}, {Figure::micro_batches, split.micro_batches},
          {Figure::zero, wishes.zero}, {Figure::replicas, split.replicas}, {Figure::sequence, wishes.sequence}})
    figures[static_cast<std::size_t>(figure)] = static_cast<double>(value);
}

Figures figures_of(const Scenario& scenario, const SplitWishes& wishes, const Prediction& prediction, double price) {
  Figures figures{};
  const auto set = [&](Figure figure, double value) { figures[static_cast<std::size_t>(figure)] = value; };
  const StepReport& step = prediction.step;
  const Phases& phases = step.phases;
  const double gpus = static_cast<double>(scenario.plan.gpus), seconds = step.step_time.value();
  const double tokens = static_cast<double>(scenario.plan.global_batch) * static_cast<double>(scenario.plan.sequence);
  set(Figure::step_time, seconds);
  set(Figure::p10, step.p10.value());
  set(Figure::p90, step.p90.value());
  set(Figure::tokens_per_s_per_gpu, tokens / seconds / gpus);
  set(Figure::mfu, prediction.mfu);
  set(Figure::hfu, prediction.hfu);
  set(Figure::bubble, step.bubble_fraction);
  set(Figure::forward, phases.forward.value());
  set(Figure::backward, phases.backward.value());
  set(Figure::pipeline_bubble, phases.bubble.value());
  set(Figure::exposed_communication, phases.exposed_communication.value());
  set(Figure::gradient_sync, phases.gradient_sync.value());
  set(Figure::clip, phases.clip.value());
  set(Figure::optimizer, phases.optimizer.value());
  set(Figure::parameter_gather, phases.parameter_gather.value());
  set(Figure::host, phases.host.value());
  set(Figure::other, (phases.data_wait + phases.host_to_device).value());
  set(Figure::memory_peak, std::round(step.memory.peak.value()));
  set(Figure::memory_headroom, std::round((step.memory.capacity - step.memory.peak).value()));
  set(Figure::weights, step.memory.weights.value());
  set(Figure::gradients, step.memory.gradients.value());
  set(Figure::optimizer_states, step.memory.optimizer.value());
  set(Figure::activations, step.memory.activations.value());
  set(Figure::cost,
      price > 0 ? price * gpus * seconds / 3600 / tokens * 1e9 : std::numeric_limits<double>::quiet_NaN());
  set(Figure::energy, step_energy(scenario.machine.row.gpu, gpus, seconds, step.kernel_time.value()));
  set_plan_figures(wishes, scenario.network.row, scenario.stack.row, figures);
  return figures;
}

double step_energy(const Gpu& gpu, double gpus, double step_s, double kernel_s) {
  const double idle = gpu.power_w * idle_power_share;
  return gpus * (idle * step_s + (gpu.power_w - idle) * kernel_s);
}

}  // namespace stepcast::sweep
