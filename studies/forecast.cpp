#include "studies/forecast.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/lower.h"
#include "model/quantity_text.h"
#include "sim/cost.h"

namespace stepcast {
namespace {

void add_utilisation(Prediction& prediction, const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
  prediction.model_flops =
      Flops(model_flops(scenario.network.row, tokens, plan.sequence, scenario.causal_attention));
  // Frozen weights have no weight gradient: two passes of the three.
  if (plan.lora_rank > 0) prediction.model_flops = prediction.model_flops * (2.0 / 3.0);
  const Seconds gpu_time = prediction.step.step_time * static_cast<double>(plan.gpus);
  prediction.model_rate = prediction.model_flops / gpu_time;
  prediction.hardware_rate = prediction.step.hardware_flops_per_gpu;
  prediction.peak = scenario.machine.row.gpu.peak[static_cast<int>(plan.precision)];
  prediction.mfu = prediction.model_rate / prediction.peak;
  prediction.hfu = prediction.hardware_rate / prediction.peak;
}

std::string overflow_text(const MemoryReport& memory) {
  return fmt::format("does not fit: rank {} needs {}, {} more than the {} it has", memory.rank, format_bytes(memory.peak),
                     format_bytes(memory.peak - memory.capacity), format_bytes(memory.capacity));
}

}  // namespace

Expected<Prediction> predict(const Scenario& scenario, bool reasons) {
  auto program = lower(scenario.network.row, scenario.plan, scenario.stack.row, reasons);
  if (!program) return tl::unexpected(program.error());
  const CostModel cost(scenario.machine.row, scenario.profile.row, scenario.stack.row, scenario.plan.precision);
  auto step = forecast(*program, cost);
  if (!step) return tl::unexpected(step.error());
  Prediction prediction;
  prediction.program = std::move(*program);
  prediction.step = std::move(*step);
  add_utilisation(prediction, scenario);
  prediction.warnings = prediction.step.warnings;
  const MemoryReport& memory = prediction.step.memory;
  const auto says_so = [](const std::string& warning) { return warning.find("fit") != std::string::npos; };
  if (!memory.fits && std::none_of(prediction.warnings.begin(), prediction.warnings.end(), says_so))
    prediction.warnings.insert(prediction.warnings.begin(), overflow_text(memory));
  return prediction;
}

}  // namespace stepcast
