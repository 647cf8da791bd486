#include <algorithm>

#include "model/base/json_writer.h"
#include "studies/run/forecast.h"
#include "studies/sweep/write/report.h"

namespace stepcast::sweep {
namespace {

void write_figures(JsonWriter& json, const SweepRow& row) {
  json.open("report");
  for (const FigureRow& figure : figure_rows())
    json.field(figure.key, row.figures[static_cast<std::size_t>(figure.figure)]);
  json.close();
}

/// Where no tier is said the order of the mesh decides, and the words of the tiers hold for nothing.
bool tells(const AxisRow& axis, bool tiers) { return tiers || !axis.flag.empty(); }

void write_choices(JsonWriter& json, const SweepQuestion& question, const SweepRow& row, bool tiers) {
  json.open("plan");
  for (std::size_t i = 0; i < question.axes.size(); ++i)
    if (tells(axis_rows()[i], tiers)) json.field(question.axes[i].key, row.choices[i]);
  json.close();
}

void write_sweep_row(JsonWriter& json, const SweepAnswer& answer, const SweepRow& row) {
  json.field("index", row.index);
  write_choices(json, answer.swept.result.question, row, answer.space->tiers);
  json.field("command", answer.command(row.index));
  write_figures(json, row);
}

void write_sweep_rows(
    JsonWriter& json, std::string_view key, const SweepAnswer& answer, const std::vector<SweepRow>& rows) {
  json.list(key, rows, [&](const SweepRow& row) { write_sweep_row(json, answer, row); });
}

void write_overflow(JsonWriter& json, const SweepAnswer& answer) {
  const SweepTally& tally = answer.swept.result.tally;
  if (tally.does_not_fit == 0) return json.null_field("smallest_overflow");
  const Space& space = *answer.space;
  const Digits digits = space.digits(tally.smallest_overflow_index);
  json.open("smallest_overflow");
  json.fields("bytes", tally.smallest_overflow_bytes, "index", tally.smallest_overflow_index);
  json.open("plan");
  for (const AxisRow& axis : axis_rows())
    if (tells(axis, space.tiers)) json.field(axis.key, space.value(digits, axis.id));
  json.close();
  json.field("command", answer.command(tally.smallest_overflow_index));
  if (answer.overflow) {
    json.fields("largest_part", answer.overflow->largest, "what_reduces_it", answer.overflow->advice);
  }
  json.close();
}

void write_tally(JsonWriter& json, const SweepAnswer& answer) {
  const SweepTally& tally = answer.swept.result.tally;
  const SweepWork& work = answer.swept.work;
  json.field("enumerated", tally.enumerated);
  json.map("illegal", tally.illegal);
  json.field("does_not_fit", tally.does_not_fit);
  write_overflow(json, answer);
  json.fields("excluded", tally.excluded + work.excluded_late, "priced", priced_in_all(answer.swept.result));
  json.fields("pruned", work.pruned, "refined", work.refined, "lowered", work.lowered, "done_before", answer.before);
  json.fields("elapsed_s", work.seconds, "threads", answer.threads, "max_fast_exact_gap", work.largest_gap);
  json.field("bound_above_exact", work.above);
}

/// Places count in "top", from 0.
void write_ties(JsonWriter& json, const SweepAnswer& answer) {
  const auto& tied = answer.verdict.tied;
  if (!tied) return json.null_field("ties");
  std::vector<std::int64_t> rows, measure;
  for (std::size_t i = 0; i < tied->ties.count; ++i) rows.push_back(static_cast<std::int64_t>(tied->rows[i]));
  for (const std::size_t i : tied->ties.measure) measure.push_back(static_cast<std::int64_t>(tied->rows[i]));
  json.object("ties", "count", tied->ties.count, "pair_spread", tied->ties.pair_spread, "cut_short",
      tied->ties.cut_short, "rows", rows, "measure", measure);
}

void write_rival(JsonWriter& json, std::string_view key, const SweepAnswer& answer, const std::optional<Rival>& rival) {
  if (!rival) return json.null_field(key);
  const SweepRow& winner = answer.swept.result.top.front();
  json.open(key);
  if (rival->rank > 0) json.field("rank", rival->rank);
  json.field("other_split", rival->other_split);
  write_sweep_row(json, answer, rival->row);
  json.open("winner_less_rival_s");
  for (const Figure figure : phase_figures()) {
    const auto at = static_cast<std::size_t>(figure);
    json.field(row_of(figure).key, winner.figures[at] - rival->row.figures[at]);
  }
  json.close();
  json.field("sentence", why_sentence(answer, *rival));
  json.close();
}

void write_why(JsonWriter& json, const SweepAnswer& answer) {
  if (answer.swept.result.top.empty()) return json.null_field("why");
  json.open("why");
  write_rival(json, "runner_up", answer, answer.verdict.runner_up);
  write_rival(json, "naive", answer, answer.verdict.naive);
  json.field("naive_wins", answer.verdict.naive_wins);
  json.close();
}

void write_shard(JsonWriter& json, const Shard& shard) {
  json.object("shard", "index", shard.index, "count", shard.count);
}

void write_without_where(JsonWriter& json, const SweepAnswer& answer) {
  if (!answer.without_where) return;
  json.open("best_without_where");
  write_sweep_row(json, answer, answer.without_where->best);
  json.close();
}

}  // namespace

void write_row_figures(JsonWriter& json, const SweepQuestion& question, const SweepRow& row) {
  json.field("index", row.index);
  write_choices(json, question, row, true);
  write_figures(json, row);
}

std::string sweep_json(const SweepAnswer& answer) {
  const SweepResult& result = answer.swept.result;
  const SweepQuestion& question = result.question;
  JsonWriter json;
  json.open();
  json.fields("network", question.network, "machine", question.machine, "objective", question.objective);
  if (!question.where.empty()) json.field("where", question.where);
  json.field("space_hash", question.hash());
  write_shard(json, result.shard);
  json.field("complete", result.complete());
  write_tally(json, answer);
  write_sweep_rows(json, "top", answer, result.top);
  write_ties(json, answer);
  write_sweep_rows(json, "pareto", answer, result.pareto);
  write_sweep_rows(json, "best_by_gpus", answer, answer.best_by_gpus);
  write_why(json, answer);
  if (!answer.broken_rule.empty()) json.field("nearest", answer.broken_rule);
  write_without_where(json, answer);
  json.close();
  return json.text();
}

std::string sweep_plan_json(const SweepPlan& plan) {
  JsonWriter json;
  json.open();
  json.fields("space_hash", plan.space_hash, "configurations", plan.configurations, "threads", plan.threads);
  json.field("estimate_s", plan.estimate.seconds);
  json.field("estimate_most_s", std::max(plan.estimate.seconds, plan.estimate.most_seconds));
  json.field("runnable_share", plan.estimate.runnable_share);
  json.open("axes");
  for (const AxisRow& axis : axis_rows()) json.field(axis.key, plan.space->values[static_cast<std::size_t>(axis.id)]);
  json.close();
  json.close();
  return json.text();
}

}  // namespace stepcast::sweep
