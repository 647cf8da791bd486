#include "studies/ask/rates_report.h"

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "model/base/whole_number.h"
#include "studies/cli/plain_size.h"
#include "studies/print/table.h"

namespace stepcast::ask {
namespace {

Seconds low(const RateAnswer& a) { return a.time * a.spread.p10; }
Seconds high(const RateAnswer& a) { return a.time * a.spread.p90; }

const std::string& said(const RateQuestion& question, const QueryField& field) {
  return question.said.find(field.name)->second.text;
}

/// As a number where it is one.
void write_said(JsonWriter& json, std::string_view key, const std::string& text) {
  if (const auto value = parsed_number<double>(cli::plain_size(text))) json.field(key, *value);
  else json.field(key, text);
}

std::string key_of(const QueryField& field) {
  std::string key(field.name);
  for (char& c : key)
    if (c == '-') c = '_';
  return key;
}

/// `top`: beside the list of rows, where a field of that name has no place.
void write_answer(
    JsonWriter& json, const RateReport& report, const RateQuestion& question, const RateAnswer& answer, bool top) {
  if (!top) json.field("kind", question.kind);
  for (const QueryField& field : report.kind.fields)
    if (!top || field.name != "rows") write_said(json, key_of(field), said(question, field));
  json.base_field("time_s", answer.time);
  json.fields("interval_s", std::vector<double>{low(answer).value(), high(answer).value()}, "bound", answer.bound,
      "source", to_text(answer.source), "law", answer.law, "extrapolated", answer.extrapolated);
  for (const auto& [key, value] : answer.figures) json.field(key, value);
  if (answer.error.samples > 0) {
    json.fields("held_out_mape", answer.error.mape, "held_out_samples", answer.error.samples);
    if (answer.error.training_size) json.field("held_out_shapes", "training size");
  }
  if (!answer.correction.empty()) json.field("correction", answer.correction);
}

/// Whose prices take the correction, and what the law is worth to those that do not.
std::string correction_text(const RateAnswer& a) {
  if (a.correction != to_text(CorrectionUse::kernels)) return a.correction;
  return fmt::format("{}: steps are priced without it{}", a.correction,
      a.alone.samples > 0 ? fmt::format("; the law alone is {}", to_text(a.alone)) : "");
}

std::string one_text(const RateReport& report, const Console& console) {
  const RateAnswer& a = report.answers.front();
  std::string asked;
  for (const QueryField& field : report.kind.fields)
    asked += fmt::format("  {} {}", field.name, said(report.questions.front(), field));
  std::string out =
      fmt::format("{} on {}{}\n\n", report.id, report.source.machine.gpu.name, asked.empty() ? "" : ":" + asked);
  out += fmt::format("  {:<11} {}   80 %: {} to {}\n", "time", format_seconds(a.time), format_seconds(low(a)),
      format_seconds(high(a)));
  out += fmt::format("  {:<11} {}\n", "bound by", a.bound);
  for (const auto& [key, value] : a.figures) out += fmt::format("  {:<11} {:.4g}\n", key, value);
  out +=
      paragraph(fmt::format("{}: {}{}{}", to_text(a.source), a.law, a.error.samples > 0 ? "; " + to_text(a.error) : "",
                    a.extrapolated ? "; outside the shapes that were measured" : ""),
          fmt::format("  {:<11} ", "source"), std::string(14, ' '), static_cast<std::size_t>(console.columns));
  if (!a.correction.empty())
    out += paragraph(correction_text(a), fmt::format("  {:<11} ", "correction"), std::string(14, ' '),
        static_cast<std::size_t>(console.columns));
  return out;
}

std::string many_text(const RateReport& report) {
  std::vector<Table::Column> columns;
  if (report.id.empty()) columns.push_back({"kind"});
  for (const QueryField& field : report.kind.fields) columns.push_back({std::string(field.name), Align::right});
  for (const char* heading : {"time", "p10", "p90"}) columns.push_back({heading, Align::right});
  for (const char* heading : {"bound", "source"}) columns.push_back({heading});
  Table table(columns);
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    const RateAnswer& a = report.answers[i];
    std::vector<std::string> cells;
    if (report.id.empty()) cells.push_back(report.questions[i].kind);
    for (const QueryField& field : report.kind.fields) cells.push_back(said(report.questions[i], field));
    cells.insert(cells.end(), {format_seconds(a.time), format_seconds(low(a)), format_seconds(high(a)), a.bound,
                                  std::string(to_text(a.source)) + (a.extrapolated ? ", extrapolated" : "")});
    table.add(std::move(cells));
  }
  return fmt::format("{} on {}\n\n{}", report.id.empty() ? std::string(report.kind.id) : report.id,
      report.source.machine.gpu.name, table.text("  "));
}

/// The error with the row of a table that it is of.
Error in_row(const std::string& row, Error error) {
  return row.empty() || error.where.starts_with(row) ? error : error_in(row, std::move(error));
}

}  // namespace

std::string rates_text(const RateReport& report, const Console& console) {
  std::string out = report.table ? many_text(report) : one_text(report, console);
  out += paragraph(report.source.profile.name, fmt::format("  {:<11} ", "profile"), std::string(14, ' '),
      static_cast<std::size_t>(console.columns));
  for (const std::string& note : report.source.notes)
    out += paragraph(note, "  note: ", "        ", static_cast<std::size_t>(console.columns));
  return out;
}

std::string rates_json(const RateReport& report) {
  JsonWriter json;
  json.open();
  json.fields("kind", report.id, "machine",
      report.source.gpu_only ? report.source.machine.gpu.id : report.source.machine.id, "gpu",
      report.source.machine.gpu.id, "profile", report.source.profile.id, "notes", report.source.notes);
  if (!report.table) write_answer(json, report, report.questions.front(), report.answers.front(), true);
  json.open_list("rows");
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    json.open();
    write_answer(json, report, report.questions[i], report.answers[i], false);
    json.close();
  }
  json.close();
  json.close();
  return json.text();
}

Expected<void> answer_rates(const QueryKind& kind, const std::string& id, const Arguments& arguments, Console& console,
    const std::function<Expected<RateAnswer>(const RateSource&, const RateQuestion&)>& answer) {
  // NCCL's curves stand with what steps read; kernels of engines do not.
  const bool nccl = kind.id == collective_kind().id && !arguments.has("--engine") && !arguments.has("--csv");
  TRY(const auto source, rate_source(arguments, !nccl));
  TRY(const auto questions, rate_questions(kind, id, arguments));
  std::vector<RateAnswer> answers;
  for (const RateQuestion& asked : questions) {
    auto found = answer(source, asked);
    if (!found) return tl::unexpected(in_row(asked.row, found.error()));
    answers.push_back(std::move(*found));
  }
  const RateReport report{kind, id, source, questions, answers, arguments.has("--csv")};
  console.out << (arguments.has("--json") ? rates_json(report) : rates_text(report, console));
  return {};
}

}  // namespace stepcast::ask
