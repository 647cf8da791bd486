#include "studies/validation/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/validation/judged_report.h"
#include "studies/print/json_fields.h"

namespace stepcast::validation {
namespace {

std::string validation_percent(double value) { return fmt::format("{:.1f}", 100 * value); }
std::string validation_signed_percent(double value) { return fmt::format("{:+.1f}", 100 * value); }

std::string class_line(const ValidatedClass& row) {
  std::string line = fmt::format("{:<58.58} {:>4} {:>6} {:>7} {:>6} {:>7} {:>9} {:>7.0f}", row.name, row.error.n,
      validation_percent(row.error.mape), validation_signed_percent(row.error.bias), validation_percent(row.error.p90),
      validation_signed_percent(row.error.worst), validation_percent(row.baseline_mape), 100 * row.coverage);
  line += row.groups > 0 ? fmt::format(" {:>6.2f} {:>7}", row.spearman, validation_percent(row.regret))
                         : fmt::format(" {:>6} {:>7}", "", "");
  if (row.memory.n > 0) line += fmt::format(" {:>6}", validation_percent(row.memory.mape));
  return line + '\n';
}

std::string class_table(const Validation& validation, bool by_source, const char* title) {
  std::string text = fmt::format("{:<58} {:>4} {:>6} {:>7} {:>6} {:>7} {:>9} {:>7} {:>6} {:>7} {:>6}\n", title, "n",
      "MAPE", "bias", "p90", "worst", "baseline", "in 80%", "rank", "regret", "memory");
  for (const ValidatedClass& row : validation.classes)
    if (row.by_source == by_source) text += class_line(row);
  return text + '\n';
}

std::string group_table(const Validation& validation) {
  if (validation.groups.empty()) return {};
  std::string text = fmt::format("{:<70} {:>4} {:>6} {:>7}\n", "Same model, GPUs and batch", "n", "rank", "regret");
  for (const RankedGroup& group : validation.groups)
    text += fmt::format(
        "{:<70.70} {:>4} {:>6.2f} {:>7}\n", group.name, group.n, group.spearman, validation_percent(group.regret));
  return text + '\n';
}

std::string case_line(const ValidatedCase& row) {
  return fmt::format(
      "{:>7} {:>10.3f} {:>10.3f}  {}\n", validation_signed_percent(row.error), row.measured_s, row.predicted_s, row.id);
}

std::string case_table(const Validation& validation, bool every) {
  constexpr std::size_t shown = 10;
  std::vector<const ValidatedCase*> rows;
  for (const ValidatedCase& row : validation.cases) rows.push_back(&row);
  const auto worse = [](const ValidatedCase* a, const ValidatedCase* b) {
    return std::abs(a->error) > std::abs(b->error);
  };
  std::stable_sort(rows.begin(), rows.end(), worse);
  if (!every) rows.resize(std::min(rows.size(), shown));
  std::string text =
      fmt::format("{:>7} {:>10} {:>10}  {}\n", "error", "measured", "forecast", every ? "run" : "worst runs");
  for (const ValidatedCase* row : rows) text += case_line(*row);
  return text + '\n';
}

/// What is said against records; all of it where it is short.
std::string doubts_text(const Validation& validation) {
  constexpr std::size_t shown = 12;
  const std::size_t doubtful = validation.all.n - validation.sound.n;
  if (doubtful == 0) return {};
  std::string text = fmt::format("without {} doubtful {}: MAPE {}, median {}, worst {}; {:.0f} % inside\n", doubtful,
      doubtful == 1 ? "record" : "records", validation_percent(validation.sound.mape),
      validation_percent(validation.sound.median), validation_signed_percent(validation.sound.worst),
      100 * validation.sound_coverage);
  if (doubtful > shown) return text + "  --json and --html say why each is doubtful\n";
  for (const ValidatedCase& row : validation.cases)
    if (!row.doubt.empty()) text += fmt::format("  {}: {}\n", row.id, row.doubt);
  return text;
}

std::string skipped_text(const Validation& validation) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const SkippedRun& run : validation.skipped) by_reason[run.reason].push_back(run.id);
  std::string text;
  for (const auto& [reason, ids] : by_reason)
    text += fmt::format("skipped {}: {}{}\n", ids.size(), reason, ids.size() == 1 ? " (" + ids.front() + ")" : "");
  return text;
}

void write_summary(JsonWriter& json, const ErrorSummary& error) {
  json.fields("n", error.n, "mape", error.mape, "median", error.median, "bias", error.bias, "p90", error.p90, "worst",
      error.worst);
}

void write_case(JsonWriter& json, const ValidatedCase& row) {
  json.open();
  json.fields("id", row.id, "class", row.class_name(), "source", row.source, "measured_s", row.measured_s,
      "predicted_s", row.predicted_s, "interval_s", std::vector<double>{row.low_s, row.high_s}, "error", row.error);
  if (row.held_out_s > 0) {
    json.fields("held_out_s", row.held_out_s, "held_out_interval_s",
        std::vector<double>{row.held_out_low_s, row.held_out_high_s});
  }
  if (!row.doubt.empty()) json.field("doubt", row.doubt);
  json.field("time_reported", row.time_reported);
  if (row.measured_memory > 0) {
    json.fields("measured_memory_bytes", row.measured_memory, "predicted_memory_bytes", row.predicted_memory);
  }
  json.field("assumptions", row.assumptions);
  json.close();
}

void write_class(JsonWriter& json, const ValidatedClass& row) {
  json.open();
  json.fields("class", row.name, "by", row.by_source ? "source" : "class");
  write_summary(json, row.error);
  json.fields("baseline_mape", row.baseline_mape, "interval_coverage", row.coverage, "groups", row.groups);
  if (row.groups > 0) {
    json.fields("rank_correlation", row.spearman, "regret", row.regret);
  }
  if (row.memory.n > 0) {
    json.open("memory");
    write_summary(json, row.memory);
    json.close();
  }
  json.close();
}

void write_sweeps(JsonWriter& json, const JudgedSweeps& sweeps) {
  json.open("measured_sweeps");
  for (const auto& [name, figures] : {std::pair{"sound", &sweeps.sound}, {"all", &sweeps.all}}) {
    json.object(name, "jobs", static_cast<std::int64_t>(figures->jobs), "regret", figures->regret, "regret_of_two",
        figures->regret_of_two, "coverage", figures->coverage, "tied_share", figures->tied_share);
  }
  json.close();
}

void write_newcomers(JsonWriter& json, const std::vector<NewcomerRow>& rows) {
  json.open_list("newcomers");
  for (const NewcomerRow& row : rows) {
    json.open();
    json.fields("class", row.name, "left_out", row.left_out);
    write_summary(json, row.error);
    json.field("interval_coverage", row.coverage);
    json.open_list("runs");
    for (const NewcomerRun& run : row.runs)
      json.row("id", run.id, "measured_s", run.measured_s, "predicted_s", run.seconds, "interval_s",
          std::vector<double>{run.low_s, run.high_s});
    json.close();
    json.close();
  }
  json.close();
}

std::string newcomers_text(const std::vector<NewcomerRow>& rows) {
  std::string text = fmt::format("{:<44} {:<14} {:>4} {:>6} {:>6} {:>7} {:>6} {:>7} {:>6}\n",
      "As if nobody had measured", "left out", "n", "median", "MAPE", "bias", "p90", "worst", "in 80%");
  for (const NewcomerRow& row : rows)
    text += fmt::format("{:<44.44} {:<14} {:>4} {:>6.1f} {:>6.1f} {:>7.1f} {:>6.1f} {:>7.1f} {:>6.0f}\n", row.name,
        row.left_out, row.error.n, 100 * row.error.median, 100 * row.error.mape, 100 * row.error.bias,
        100 * row.error.p90, 100 * row.error.worst, 100 * row.coverage);
  return text + '\n';
}

}  // namespace

std::string validation_text(const Validation& validation, const std::vector<JudgedRow>& judged,
    const std::optional<HeldOutFigures>& held_out, bool cases) {
  std::string text =
      fmt::format("{} runs forecast, {} skipped; errors of the step time in %, forecast over measured - 1\n"
                  "all: MAPE {}, median {}, bias {}, p90 {}, worst {}; {:.0f} % inside their 80 % interval\n",
          validation.cases.size(), validation.skipped.size(), validation_percent(validation.all.mape),
          validation_percent(validation.all.median), validation_signed_percent(validation.all.bias),
          validation_percent(validation.all.p90), validation_signed_percent(validation.all.worst),
          100 * validation.coverage);
  text += doubts_text(validation) + "\n" + judged_text(judged);
  if (held_out) text += newcomers_text(held_out->newcomers) + measured_sweeps_text(held_out->sweeps);
  text += class_table(validation, false, "GPU, precision, kind and software");
  text += class_table(validation, true, "Source");
  text += group_table(validation);
  text += case_table(validation, cases);
  return text + skipped_text(validation);
}

std::string validation_json(
    const Validation& validation, const std::vector<JudgedRow>& judged, const std::optional<HeldOutFigures>& held_out) {
  JsonWriter json;
  json.open();
  json.open("all");
  write_summary(json, validation.all);
  json.field("interval_coverage", validation.coverage);
  json.close();
  json.open("without_doubtful");
  write_summary(json, validation.sound);
  json.field("interval_coverage", validation.sound_coverage);
  json.close();
  json_list(json, "cases", validation.cases, write_case);
  json.open_list("skipped");
  for (const SkippedRun& run : validation.skipped) json.row("id", run.id, "reason", run.reason);
  json.close();
  json_list(json, "classes", validation.classes, write_class);
  write_judged(json, judged);
  if (held_out) {
    write_sweeps(json, held_out->sweeps);
    write_newcomers(json, held_out->newcomers);
  }
  json.open_list("groups");
  for (const RankedGroup& group : validation.groups) {
    json.row("group", group.name, "class", group.class_name, "n", group.n, "rank_correlation", group.spearman, "regret",
        group.regret);
  }
  json.close();
  json.close();
  return json.text();
}

}  // namespace stepcast::validation
