#include "studies/predict/json.h"

#include "model/base/json_writer.h"
#include "studies/run/figures/partition.h"
#include "studies/run/figures/phases.h"
#include "studies/timeline/step_timeline.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::predict {
namespace {

void write_run(JsonWriter& json, const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  json.open("run");
  json.fields("network", scenario.network.row.id, "machine", scenario.machine.row.id, "gpu",
      scenario.machine.row.gpu.id, "stack", scenario.stack.row.id, "profile", scenario.profile.row.id, "split",
      in_words(scenario), "gpus", plan.gpus, "micro_batch", plan.micro_batch, "micro_batches", scenario.micro_batches,
      "global_batch", plan.global_batch, "sequence", plan.sequence, "precision", to_text(plan.precision), "parameters",
      run::parameters_of(scenario.network));
  if (const auto active = run::active_parameters_of(scenario.network)) json.field("active_parameters", *active);
  json.close();
  if (!scenario.network.id.empty()) return;
  const NetworkSpec* row = same_in_catalog(scenario.network.row);
  json.object(
      "network_read", "parameters", run::parameters_of(scenario.network), "same_as", row == nullptr ? "" : row->id);
}

void write_rates(JsonWriter& json, const Scenario& scenario, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  json.base_field("step_time_s", step.step_time);
  json.fields("step_time_interval_s", std::vector<double>{step.p10.value(), step.p90.value()}, "tokens_per_s_per_gpu",
      step.tokens_per_s_per_gpu);
  json.base_field("model_flops_per_s_per_gpu", prediction.model_rate);
  json.base_field("hardware_flops_per_s_per_gpu", prediction.hardware_rate);
  json.fields(
      "attention_flops", scenario.causal_attention ? "causal" : "full", "mfu", prediction.mfu, "hfu", prediction.hfu);
  json.base_field("mfu_peak_flops_per_s", prediction.peak);
  json.field("bubble_fraction", step.bubble_fraction);
}

void write_stages(JsonWriter& json, const std::vector<StageReport>& stages) {
  json.open_list("stages");
  for (const StageReport& stage : stages) {
    json.open();
    json.base_fields("forward_s", stage.forward, "input_grad_s", stage.input_grad, "weight_grad_s", stage.weight_grad);
    json.field("layers", stage.layers);
    json.close();
  }
  json.close();
}

void write_partition(JsonWriter& json, const Scenario& scenario, const Prediction& prediction) {
  if (prediction.program.stages == 1) return;
  const PartitionReport partition = partition_report(scenario, prediction);
  json.object("partition", "layers", partition.layers, "imbalance", partition.balance.imbalance, "cost_s",
      partition.balance.cost.value(), "layout", partition.layout);
}

void write_collectives(JsonWriter& json, const std::vector<CollectiveReport>& collectives) {
  json.open_list("collectives");
  for (const CollectiveReport& one : collectives) {
    json.open();
    json.fields("name", one.name, "kind", one.kind, "axis", one.axis, "group_size", one.group_size, "span", one.span,
        "bytes", one.bytes.value(), "count", one.count);
    json.base_fields("time_s", one.time, "exposed_s", one.exposed);
    json.fields("stage", one.stage, "source", to_text(one.source), "because", one.because);
    json.close();
  }
  json.close();
}

void write_memory(JsonWriter& json, const MemoryReport& memory) {
  json.open("memory");
  json.base_field("peak_bytes", memory.peak);
  json.fields("allocated_peak_bytes", memory.allocated.value(), "reserved_peak_bytes", memory.reserved.value());
  json.base_field("capacity_bytes", memory.capacity);
  json.fields("fits", memory.fits, "rank", memory.rank);
  json.open("by_lifetime_bytes");
  for (const LifetimeRow& row : lifetime_rows(memory)) json.field(row.key, row.bytes.value());
  json.close();
  json.close();
}

/// What nobody said and what the program took for granted.
void write_assumptions(JsonWriter& json, const Scenario& scenario, const Prediction& prediction) {
  json.open_list("defaults");
  for (const Assumption& assumption : scenario.assumptions)
    json.row("flag", assumption.flag, "value", assumption.value, "why", assumption.why);
  json.close();
  json.open_list("assumptions");
  for (const Remark& remark : scenario.remarks) json.item(remark.text);
  for (const Note& note : prediction.program.notes) json.item(note.text);
  for (const std::string& note : prediction.step.notes) json.item(note);
  json.close();
  json.open_list("warnings");
  for (const std::string& warning : prediction.warnings) json.item(warning);
  json.close();
}

}  // namespace

std::string json_report(const Scenario& scenario, const Prediction& prediction, const Explained* explained,
    const FlopsCount* count, const UnevenForecast* uneven, const std::vector<AroundPart>& around) {
  JsonWriter json;
  json.open();
  json.field("fits", prediction.step.memory.fits);  // first: a step that does not fit has no time
  write_rates(json, scenario, prediction);
  if (count != nullptr) {
    const std::string id(count->id);
    json.base_field((id + "_flops_per_s_per_gpu").c_str(), run::printed_rate(*count, scenario, prediction));
    json.field((id + "_flops_per_token").c_str(), run::flops_of_token(*count, scenario));
  }
  if (uneven != nullptr) {
    json.open("uneven");
    write_uneven(json, *uneven);
    json.close();
  }
  if (!around.empty()) {
    const double step = uneven != nullptr ? uneven->mean_s : prediction.step.step_time.value();
    json.field("step_time_with_around_s", step + sum_of(around).value());
    write_around(json, around);
  }
  write_phases(json, prediction.step.phases);
  write_stages(json, prediction.step.stages);
  write_partition(json, scenario, prediction);
  if (prediction.step.order.stages() > 1 || prediction.step.order.slices > 1) write_pipeline(json, prediction);
  write_collectives(json, prediction.step.collectives);
  write_memory(json, prediction.step.memory);
  write_run(json, scenario);
  write_assumptions(json, scenario, prediction);
  if (explained != nullptr) write_explanation(json, *explained);
  json.close();
  return json.text();
}

}  // namespace stepcast::predict
