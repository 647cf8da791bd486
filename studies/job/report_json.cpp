// The JSON of stepcast job.
#include <cmath>

#include "model/base/json_writer.h"
#include "studies/job/forecast.h"

namespace stepcast::job {
namespace {

/// null where no lives were drawn.
void write_range(JsonWriter& json, const char* key, const JobSpread& spread, const Percentiles& range) {
  if (spread.lives == 0) return json.null_field(key);
  json.field(key, std::vector<double>{range.p10, range.p50, range.p90});
}

void write_figures(JsonWriter& json, const JobForecast& job, const JobWishes& wishes) {
  const sim::LifeTimes& life = job.expected;
  const bool done = job.never.empty();
  json.field("goodput", done ? life.goodput() : 0.0);
  if (!done) {
    json.field("never", job.never);
    json.null_field("time_to_train_s");
    return;
  }
  json.base_field("time_to_train_s", life.whole());
  json.field("failures", life.failures);
  json.open("percentiles_10_50_90");
  write_range(json, "time_to_train_s", job.spread, job.spread.wall_s);
  write_range(json, "goodput", job.spread, job.spread.goodput);
  write_range(json, "failures", job.spread, job.spread.failures);
  json.close();
  json.open("percentiles_10_50_90_by_chance");
  write_range(json, "time_to_train_s", job.spread, job.spread.chance_wall_s);
  write_range(json, "goodput", job.spread, job.spread.chance_goodput);
  write_range(json, "failures", job.spread, job.spread.chance_failures);
  json.close();
  json.fields("lives", job.spread.lives, "seed", wishes.seed);
  if (job.spread.lives > 0) json.field("goodput_of_lives", job.spread.mean_goodput);
  else json.null_field("goodput_of_lives");
  json.open("time");
  json.base_fields("useful_s", life.useful, "checkpoints_s", life.saving, "lost_s", life.lost, "detection_s",
      life.detecting, "restarts_s", life.restarting, "waiting_s", life.waiting, "planned_s", life.planned);
  json.close();
  if (job.watts > 0) json.field("energy_j", job.energy_j());
  const double gpu_hours = job.paid_gpus() * life.whole().value() / hour_s;
  json.field("gpu_hours", gpu_hours);
  if (wishes.gpu_hour_price || wishes.kwh_price)
    json.field(
        "cost", gpu_hours * wishes.gpu_hour_price.value_or(0) + job.energy_j() / kwh_j * wishes.kwh_price.value_or(0));
}

void write_failures(JsonWriter& json, const JobForecast& job, const JobWishes& wishes) {
  const sim::LifeSettings& life = job.settings.life;
  json.open("failure_model");
  if (!wishes.logged) json.fields("rates", wishes.rates.id, "rates_source", wishes.rates.source);
  else json.field("logged_failures", wishes.logged->failures);
  constexpr double day_s = 86400;
  json.fields("per_day", life.failures.per_second * day_s, "fixed_per_day", life.fixed_per_second * day_s);
  json.base_fields("mean_between_s", life.failures.mean_between(), "detect_s", life.failures.detect, "restart_s",
      life.failures.restart, "memory_restart_s", life.failures.soft_restart);
  json.fields("from_memory", life.failures.soft, "nodes", job.base.nodes(), "nodes_in_repair", job.in_repair,
      "spares_for_waiting_0.001", job.enough_spares);
  if (life.pool) json.fields("spares", life.pool->spares, "missing_nodes_share", job.waiting);
  json.close();
}

void write_checkpoint(JsonWriter& json, const JobForecast& job) {
  const sim::Saves& saves = job.settings.life.saves;
  const CheckpointSize& size = job.settings.checkpoint;
  json.open("checkpoint");
  json.base_fields("all_bytes", size.all, "fullest_gpu_bytes", size.fullest_gpu, "write_s", job.settings.times.write,
      "read_s", job.settings.times.read, "copy_s", job.settings.times.copy, "blocking_s", saves.store, "settle_s",
      saves.settle, "interval_s", saves.interval * static_cast<double>(saves.per_stored));
  if (!size.asked) json.field("bytes_per_parameter", size.all.value() / size.written);
  json.fields(
      "parameters", size.written, "trained_parameters", size.trained, "storage_assumed", job.settings.storage.assumed);
  if (saves.per_stored > 1) json.base_field("memory_interval_s", saves.interval);
  json.list("laws", job.laws, [&](const LawAnswer& law) {
    json.field("law", law.id);
    json.base_field("interval_s", law.interval);
    json.fields("goodput", law.goodput, "holds", law.holds, "source", law.source);
  });
  if (job.first_order) json.field("first_order_goodput", *job.first_order);
  else json.null_field("first_order_goodput");
  json.field("first_order_loss", job.first_order_loss);
  json.close();
}

void write_health(JsonWriter& json, const std::vector<HealthFigure>& health) {
  json.list("health", health, [&](const HealthFigure& figure) {
    json.fields("id", figure.id, "value", figure.value, "slow", figure.slow, "broken", figure.broken, "verdict",
        to_text(figure.verdict()));
  });
}

/// KEY_s, or null and, where it was tried, no_KEY with the reason.
void write_step(JsonWriter& json, const std::string& key, const std::optional<Seconds>& step, const std::string& none) {
  if (step) return json.base_field(key + "_s", *step);
  json.null_field(key + "_s");
  if (!none.empty()) json.field("no_" + key, none);
}

void write_outlook(JsonWriter& json, const JobForecast& job) {
  write_health(json, job.health);
  json.list("levers", job.levers,
      [&](const JobLever& lever) { json.fields("change", lever.name, "goodput", lever.goodput); });
  if (!job.ten) {
    json.null_field("ten_times");
    return json.field("no_ten_times", job.ten.error().what);
  }
  json.open("ten_times");
  json.field("gpus", job.ten->gpus);
  json.base_fields("mean_between_s", job.ten->between_failures, "interval_s", job.ten->interval);
  write_step(json, "step_time", job.ten->step, job.ten->no_step);
  write_step(json, "same_batch_step_time", job.ten->same_batch, job.ten->no_same_batch);
  json.field("goodput", job.ten->goodput);
  write_health(json, job.ten->health);
  json.field("breaks", job.ten->breaks);
  json.close();
}

}  // namespace

std::string job_json(const JobForecast& job, const JobWishes& wishes) {
  const Scenario& scenario = job.run.scenario;
  JsonWriter json;
  json.open();
  write_figures(json, job, wishes);
  json.fields("steps", job.steps, "tokens", job.tokens);
  json.base_field("step_time_s", job.base.step);
  json.base_field("even_step_time_s", job.step.even);
  json.fields("uneven_factor", job.step.uneven, "uneven_as_in_fleets", job.step.by_fleets);
  if (!job.step.around.empty()) write_around(json, job.step.around);
  write_failures(json, job, wishes);
  write_checkpoint(json, job);
  write_outlook(json, job);
  json.object("run", "network", scenario.network.row.id, "machine",
      job.run.mixed ? ids_of(job.run.mixed->shares()) : scenario.machine.row.id, "stack", scenario.stack.row.id,
      "split", in_words(scenario), "gpus", scenario.plan.gpus, "global_batch", scenario.plan.global_batch, "sequence",
      scenario.plan.sequence, "precision", to_text(scenario.plan.precision));
  json.field("assumptions", job.notes);
  json.field("warnings", job.warnings);
  json.close();
  return json.text();
}

}  // namespace stepcast::job
