#include "model/base/json_writer.h"
#include "studies/whatif/whatif_report.h"
#include "studies/scale/report.h"
#include "studies/print/json_fields.h"

namespace stepcast::scale {
namespace {

void write_scaled_run(JsonWriter& json, const ScaledRun& run) {
  const Outcome& outcome = run.outcome;
  json.fields("gpus", run.gpus, "global_batch", run.global_batch, "micro_batches", run.micro_batches);
  json.base_field("step_time_s", outcome.step_time);
  json.fields("step_time_interval_s", std::vector<double>{outcome.p10.value(), outcome.p90.value()}, "tokens_per_s",
      outcome.tokens / outcome.step_time.value(), "tokens_per_s_per_gpu", outcome.tokens_per_s_per_gpu, "speed_up",
      run.speed_up, "efficiency", run.efficiency, "exposed_communication_fraction",
      outcome.phases.exposed_communication / outcome.step_time, "bubble_fraction", outcome.bubble_fraction);
  json.base_field("memory_peak_bytes", outcome.memory);
  json.field("fits", outcome.fits);
  write_phases(json, outcome.phases);
}

void write_horizon(JsonWriter& json, const Horizon& horizon) {
  json.open();
  json.fields("times", horizon.times, "wanted_gpus", horizon.wanted);
  if (horizon.run) {
    json.open("at");
    write_scaled_run(json, *horizon.run);
    json.close();
  } else {
    json.null_field("at");
  }
  if (!horizon.grown.name.empty()) {
    json.object("most_above_ideal", "phase", horizon.grown.key, "above_s", horizon.grown.change.value());
  }
  json.open_list("breaks");
  for (const std::string& one : horizon.breaks) json.item(one);
  json.close();
  json.close();
}

void write_serial_fit(JsonWriter& json, const ScalingCurve& curve) {
  if (!curve.fit) return json.null_field("fit");
  json.object("fit", "law", curve.scaling == Scaling::strong ? "amdahl" : "gustafson", "serial_share",
      curve.fit->serial, "largest_deviation", curve.fit->worst, "runs", curve.fit->runs);
}

void write_curve(JsonWriter& json, const ScalingCurve& curve) {
  json.open(curve.scaling == Scaling::strong ? "strong" : "weak");
  json.open_list("runs");
  for (const ScaledRun& run : curve.runs) {
    json.open();
    write_scaled_run(json, run);
    json.close();
  }
  json.close();
  json.open_list("skipped");
  for (const SkippedCount& one : curve.skipped) json.row("gpus", one.gpus, "why", one.reason);
  json.close();
  write_serial_fit(json, curve);
  json.field("breaks_first", first_break(curve));
  json_list(json, "ahead", curve.horizons, write_horizon);
  json.close();
}

}  // namespace

std::string scale_json(const ScaleStudy& study) {
  const Scenario& scenario = study.scenario;
  JsonWriter json;
  json.open();
  json.object("run", "network", scenario.network.row.id, "machine", scenario.machine.row.id, "stack",
      scenario.stack.row.id, "profile", scenario.profile.row.id, "split", in_words(scenario), "stages", study.stages,
      "micro_batch", scenario.plan.micro_batch, "sequence", scenario.plan.sequence, "precision",
      to_text(scenario.plan.precision));
  for (const ScalingCurve& curve : study.curves) write_curve(json, curve);
  json.close();
  return json.text();
}

}  // namespace stepcast::scale
