// The gate's findings as one JSON document, and as GitLab's list.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/text.h"
#include "studies/gate/report.h"

namespace stepcast::gate {
namespace {

/// Logarithms are shown as fractions: 0.05 is 5 % slower; infinite bounds are null.
double fraction(double shift) { return std::isfinite(shift) ? std::expm1(shift) : NAN; }

void write_must(JsonWriter& json, const JudgedMust& must) {
  const Judgement& judged = must.judgement;
  json.open();
  json.fields("must", to_text(must.kind), "name", must.name, "finding", to_text(judged.finding));
  if (must.expected_seconds > 0) {
    json.fields("expected_s", must.expected_seconds, "shift", fraction(judged.bounds.shift), "shift_lower",
        fraction(judged.bounds.lower), "shift_upper", fraction(judged.bounds.upper));
  }
  if (must.figure) json.field("reached", *must.figure);
  json.fields("runs_before", must.runs_before, "noise", judged.noise);
  if (judged.finding == Finding::undecided)
    json.object("runs_needed", "now", judged.needed.now, "before", std::max(judged.needed.before, must.runs_before));
  json.field("note", must.note);
  json.close();
}

void write_case(JsonWriter& json, const JudgedCase& one) {
  json.open();
  json.fields("name", one.name, "finding", to_text(one.finding), "unit", one.unit, "runs", one.seconds.size(),
      "runs_wanted", one.wanted, "times_s", one.seconds);
  if (!one.seconds.empty()) json.fields("median_s", one.median, "noise", one.noise);
  if (one.forecast_seconds) json.field("forecast_s", *one.forecast_seconds);
  json.object("rates", "false_alarms", one.rates.alarm(), "missed", one.rates.miss(), "find", one.rates.find, "looks",
      one.rates.looks);
  json.open_list("musts");
  for (const JudgedMust& must : one.musts) write_must(json, must);
  json.close();
  json.field("history_checks", one.history);
  json.open_list("changes");
  for (const JudgedChange& change : one.changes)
    json.row("checks_ago", change.checks_ago, "change", change.change, "at", change.at, "commit", change.commit);
  json.close();
  json.field("notes", one.notes);
  json.close();
}

std::string message_of(const JudgedCase& one, const JudgedMust& must) {
  std::string text = fmt::format("{}: {} ({})", one.name, to_text(must.judgement.finding), must.name);
  if (!one.seconds.empty() && must.expected_seconds > 0) text += ": " + shift_words(must);
  if (const std::string words = must_words(must, one); !words.empty()) text += "; " + words;
  return text;
}

}  // namespace

std::string gate_json(const GateReport& report) {
  JsonWriter json;
  json.open();
  json.fields("file", report.file, "cases_slower", report.count(Finding::slower), "cases_faster",
      report.count(Finding::faster), "cases_equal", report.count(Finding::equal), "cases_undecided",
      report.count(Finding::undecided), "false_alarms_at_most", report.false_alarms(), "checks_recorded",
      report.recorded);
  json.open_list("cases");
  for (const JudgedCase& one : report.cases) write_case(json, one);
  json.close();
  json.close();
  return json.text();
}

std::string gate_gitlab(const GateReport& report) {
  JsonWriter json;
  json.open_list();
  const auto add = [&](const std::string& text, const char* severity, const std::string& key) {
    json.open();
    json.fields("description", text, "check_name", "stepcast gate", "fingerprint",
        fmt::format("{:016x}", fnv1a(report.file + "\n" + key)), "severity", severity);
    json.open("location");
    json.field("path", report.file);
    json.open("lines");
    json.field("begin", 1);
    json.close();
    json.close();
    json.close();
  };
  for (const JudgedCase& one : report.cases) {
    for (const JudgedMust& must : one.musts) {
      const Finding finding = must.judgement.finding;
      if (finding == Finding::equal) continue;
      add(message_of(one, must),
          finding == Finding::slower      ? "major"
          : finding == Finding::undecided ? "minor"
                                          : "info",
          one.name + "/" + std::string(to_text(must.kind)));
    }
    for (const JudgedChange& change : one.changes)
      if (change.change > 0 && change.checks_ago < 2)
        add(fmt::format("{}: {}", one.name, change_words(change)), "minor", one.name + "/level");
  }
  json.close();
  return json.text();
}

}  // namespace stepcast::gate
