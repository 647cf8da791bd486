#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/run/figures/phases.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::whatif {
namespace {

void write_outcome_fields(JsonWriter& json, const Outcome& outcome) {
  json.base_field("step_time_s", outcome.step_time);
  json.fields("step_time_interval_s", std::vector<double>{outcome.p10.value(), outcome.p90.value()},
      "tokens_per_s_per_gpu", outcome.tokens_per_s_per_gpu);
  json.base_field("memory_peak_bytes", outcome.memory);
  json.field("fits", outcome.fits);
}

void write_whole_outcome(JsonWriter& json, const char* key, const Outcome& outcome) {
  json.open(key);
  write_outcome_fields(json, outcome);
  json.base_field("memory_capacity_bytes", outcome.capacity);
  json.field("bubble_fraction", outcome.bubble_fraction);
  write_phases(json, outcome.phases);
  json.close();
}

/// What became of it against `before`, relative: 0 = the same.
void write_effect(JsonWriter& json, const Outcome& before, const Outcome& after) {
  write_outcome_fields(json, after);
  json.fields("step_time_change", after.step_time / before.step_time - 1, "gpu_time_per_token_change",
      time_change(before, after), "tokens_per_s_per_gpu_change",
      after.tokens_per_s_per_gpu / before.tokens_per_s_per_gpu - 1);
  const PhaseMove move = moved_most(before, after);
  if (move.name.empty()) return;
  json.object("moved_most", "phase", move.key, "change_s", move.change.value());
}

void write_studied_run(JsonWriter& json, const Scenario& scenario) {
  json.object("run", "network", scenario.network.row.id, "machine", scenario.machine.row.id, "stack",
      scenario.stack.row.id, "profile", scenario.profile.row.id, "split", in_words(scenario), "gpus",
      scenario.plan.gpus, "micro_batch", scenario.plan.micro_batch, "micro_batches", scenario.micro_batches,
      "global_batch", scenario.plan.global_batch, "sequence", scenario.plan.sequence, "precision",
      to_text(scenario.plan.precision));
}

void write_lever(JsonWriter& json, const LeverEffect& lever, const Outcome& before) {
  json.open();
  json.fields("id", lever.id, "name", lever.name, "of", lever.of_machine ? "machine" : "plan", "from", lever.from);
  json.open_list("variations");
  for (const Variation& variation : lever.variations) {
    json.open();
    json.field("to", variation.to);
    if (lever.of_machine) {
      json.fields("factor", variation.factor, "value" + lever.unit, variation.amount);
    }
    write_effect(json, before, variation.after);
    json.close();
  }
  json.close();
  json.close();
}

}  // namespace

void write_phases(JsonWriter& json, const Phases& phases) {
  json.open("phases_s");
  for (const PhaseRow& row : phase_rows(phases)) json.field(row.key, row.time.value());
  json.close();
}

std::string whatif_json(const Sensitivity& study, std::size_t top) {
  JsonWriter json;
  json.open();
  write_studied_run(json, study.scenario);
  write_whole_outcome(json, "before", study.before);
  json.field("factor", study.factor);
  json.open_list("levers");
  for (const LeverEffect* lever : shown_levers(study, top)) write_lever(json, *lever, study.before);
  json.close();
  json.open_list("without_effect");
  for (const LeverEffect& lever : study.levers) {
    if (lever.idle.empty()) continue;
    json.row("id", lever.id, "why", lever.idle);
  }
  json.close();
  json.open_list("cannot_run");
  for (const RefusedStep& step : study.refused) json.row("id", step.id, "to", step.to, "why", step.reason);
  json.close();
  json.close();
  return json.text();
}

std::string change_json(const ChangeEffect& effect) {
  JsonWriter json;
  json.open();
  write_studied_run(json, effect.scenario);
  write_whole_outcome(json, "before", effect.before);
  write_whole_outcome(json, "after", effect.together);
  json.field("split_after", effect.split);
  json.open("change");
  write_effect(json, effect.before, effect.together);
  json.close();
  json.open_list("alone");
  for (const ChangeEffect::One& one : effect.alone) {
    json.open();
    json.fields("id", one.change.id, "value", one.change.value);
    if (one.refused.empty()) {
      json.fields("from", one.from, "to", one.to);
      write_effect(json, effect.before, one.after);
    } else {
      json.field("cannot_run", one.refused);
    }
    json.close();
  }
  json.close();
  json.close();
  return json.text();
}

}  // namespace stepcast::whatif
