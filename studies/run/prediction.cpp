#include "studies/run/prediction.h"

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "model/errors/error_context.h"
#include "studies/run/sequence_slices.h"

namespace stepcast::run {
namespace {

void add_utilisation(Prediction& prediction, const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  prediction.model_flops = step_model_flops(scenario);
  const Seconds gpu_time = prediction.step.step_time * static_cast<double>(plan.gpus);
  prediction.model_rate = prediction.model_flops / gpu_time;
  prediction.hardware_rate = prediction.step.hardware_flops_per_gpu;
  prediction.peak = scenario.machine.row.gpu.peak[static_cast<int>(plan.precision)];
  prediction.mfu = prediction.model_rate / prediction.peak;
  prediction.hfu = prediction.hardware_rate / prediction.peak;
}

/// Forward, and once more for the gradient of each input that has one. Attention and scans have both of theirs.
double passes_of(const Operator& op, const Network& net) {
  const auto gradients = static_cast<double>(differentiable_inputs(op, net.tensors).size());
  const bool product = op.kind == OperatorKind::einsum || op.function == "conv";
  return product || gradients == 0 ? 1 + gradients : 3;
}

double trained_flops(const NetworkSpec& spec, const BatchShape& batch) {
  const Network net = build_network(spec, batch, AttentionForm::fused);
  double total = 0;
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      total += static_cast<double>(block.repeat) * passes_of(op, net) * forward_flops(op, net.dims, true);
  return total;
}

/// What adapters add to model_flops of one sequence: a frozen weight has no gradient, so that its product is done twice
/// and not three times; the core of attention has no weights and keeps its three passes; the adapters' own products
/// have three. Below 0 where the rank is small.
double adapters_added_flops(const NetworkSpec& spec, const Plan& plan) {
  BatchShape batch;
  batch.positions = plan.sequence;
  const double whole = trained_flops(spec, batch);
  batch.lora_rank = plan.lora_rank;
  batch.adapted = plan.adapted;
  return trained_flops(spec, batch) - whole;
}

}  // namespace

Flops step_model_flops(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
  const Flops flops(model_flops(scenario.network.row, tokens, plan.sequence, scenario.causal_attention));
  if (plan.lora_rank == 0) return flops;
  const double added = adapters_added_flops(scenario.network.row, plan);
  return flops + Flops(static_cast<double>(plan.global_batch) * added);
}

double flops_of_token(const FlopsCount& count, const Scenario& scenario) {
  return count.flops(scenario.network.row, 1, scenario.plan.sequence);
}

FlopsPerSecond printed_rate(const FlopsCount& count, const Scenario& scenario, const Prediction& prediction) {
  const Plan& plan = scenario.plan;
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
  const Seconds gpu_time = prediction.step.step_time * static_cast<double>(plan.gpus);
  return Flops(tokens * flops_of_token(count, scenario)) / gpu_time;
}

namespace {

/// Work that several ranks do alike, over all blocks: executed over needed matrix FLOPs.
double repeated_work(const Program& program) {
  Flops executed, useful;
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      for (const KernelWork& work : program.blocks[run.block].works) {
        if (work.walked > 0) continue;  // keys that a kernel walks beyond a window repeat nothing
        executed += work.flops * static_cast<double>(run.count);
        useful += work.useful * static_cast<double>(run.count);
      }
  return useful.value() > 0 ? executed / useful : 1;
}

/// What makes a forecast doubtful as a whole, before the warnings of its parts.
void add_doubts(Prediction& prediction, const Scenario& scenario) {
  const Profile& profile = scenario.profile.row;
  const Gpu& gpu = scenario.machine.row.gpu;
  if (!profile.gpu.empty() && profile.gpu != gpu.id)
    prediction.warnings.push_back(
        fmt::format("profile {} was measured on {}, this machine has {}", profile.id, profile.gpu, gpu.id));
  if (prediction.hfu > 1)
    prediction.warnings.push_back(fmt::format(
        "more FLOP/s than the datasheet's peak ({:.0f} % HFU): the rates are not this GPU's", 100 * prediction.hfu));
  constexpr double worth_a_line = 1.02;
  if (const double repeated = repeated_work(prediction.program); repeated > worth_a_line)
    prediction.warnings.push_back(fmt::format(
        "{:.1f} x the needed matrix work is done: some operators are split on no axis and repeated", repeated));
}

/// The simulator speaks of the cap as it is, not of where it was said.
Error with_cap_origin(Error error, const PipelineChoice& pipeline) {
  return renamed_place(std::move(error), "memory-cap", pipeline.cap_where);
}

Expected<StepReport> forecast_step(const Scenario& scenario, const Program& program, const StageCosts& cost) {
  const double cap = static_cast<double>(scenario.pipeline.memory_cap);
  if (scenario.pipeline.slices == 1) return forecast(program, cost, cap);
  TRY(const auto slices, lower_slices(scenario, program));
  return forecast_slices(slices, cost, cap);
}

}  // namespace

CostModel cost_model(const Scenario& scenario) {
  const FoundFit found = step_fit(scenario);
  return {scenario.machine.row, scenario.profile.row, scenario.stack.row, scenario.plan.precision, scenario.plan.gpus,
      found.fit ? &*found.fit : nullptr};
}

Expected<Prediction> predict_as_laid(const Scenario& scenario, bool reasons) {
  return predict_as_laid(scenario, cost_model(scenario), reasons);
}

Expected<Prediction> predict_as_laid(const Scenario& scenario, const StageCosts& costs, bool reasons) {
  TRY(auto program, lower(scenario.network.row, scenario.plan, scenario.stack.row, reasons));
  return predict_lowered(scenario, std::move(program), costs);
}

Expected<Prediction> predict_lowered(const Scenario& scenario, Program program, const StageCosts& costs) {
  auto step = forecast_step(scenario, program, costs);
  if (!step) return tl::unexpected(with_cap_origin(step.error(), scenario.pipeline));
  Prediction prediction;
  prediction.program = std::move(program);
  prediction.step = std::move(*step);
  add_utilisation(prediction, scenario);
  prediction.warnings = scenario.warnings;
  add_doubts(prediction, scenario);
  prediction.warnings.insert(
      prediction.warnings.end(), prediction.step.warnings.begin(), prediction.step.warnings.end());
  return prediction;
}

}  // namespace stepcast::run
