#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/percentile.h"
#include "studies/infer/records/records.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

/// Of each list that has jobs with three splits or more.
std::map<std::string, Ranking> rankings(const InferenceJudgement& judgement) {
  std::map<std::string, RankedJobs> lists;
  for (const InferenceCase& c : judgement.cases)
    if (c.split && !c.judged_as.empty()) lists[c.judged_as][c.job].push_back(*c.split);
  std::map<std::string, Ranking> out;
  for (const auto& [name, jobs] : lists)
    if (const Ranking ranking = rank(jobs); ranking.jobs > 0) out[name] = ranking;
  return out;
}

/// Errors of some cases, as a row says them.
struct Errors {
  std::vector<double> errors;
  double inside = 0;

  void add(const InferenceCase& c) {
    errors.push_back(std::abs(c.error()));
    inside += c.measured >= c.low && c.measured <= c.high ? 1 : 0;
  }
  [[nodiscard]] double mean() const {
    return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  }
  [[nodiscard]] double median() const { return percentile(errors, 0.5); }
  [[nodiscard]] double share_inside() const { return inside / static_cast<double>(errors.size()); }
};

/// Of a list, and of each engine where it has several; of open loops also those that are far from saturation.
using ErrorRows = std::map<std::pair<std::string, std::string>, Errors>;

ErrorRows error_rows(const InferenceJudgement& judgement) {
  constexpr double far = 0.9;  // of the rate at which requests are served that all come at once
  std::map<std::string, std::set<std::string>> engines;
  for (const InferenceCase& c : judgement.cases) engines[c.judged_as].insert(c.engine);
  ErrorRows rows;
  for (const InferenceCase& c : judgement.cases) {
    const std::string list = c.judged_as.empty() ? "not judged" : c.judged_as;
    rows[{list, ""}].add(c);
    if (!c.judged_as.empty() && engines[c.judged_as].size() > 1) rows[{list, c.engine}].add(c);
    if (c.load && *c.load < far) rows[{list, "below 90 % load"}].add(c);
  }
  return rows;
}

}  // namespace

std::string judgement_json(const InferenceJudgement& judgement) {
  nlohmann::ordered_json json;
  json["cases"] = nlohmann::ordered_json::array();
  for (const InferenceCase& c : judgement.cases) {
    json["cases"].push_back({{"id", c.id}, {"judged_as", c.judged_as}, {"metric", c.metric}, {"measured", c.measured},
        {"predicted", c.predicted}, {"interval", {c.low, c.high}}, {"error", c.error()}, {"engine", c.engine},
        {"gpu", c.gpu}, {"model", c.model}, {"weights", c.weights}, {"waves", c.phase.waves},
        {"prefill_s", c.phase.prefill.value()}, {"decode_s", c.phase.decode.value()}});
    if (c.load) json["cases"].back()["load"] = *c.load;
    if (c.held_out) json["cases"].back()["held_out"] = true;
    if (c.first_measured_ms) {
      json["cases"].back()["ttft_measured_ms"] = *c.first_measured_ms;
      json["cases"].back()["ttft_predicted_ms"] = *c.first_predicted_ms;
    }
  }
  json["lists"] = nlohmann::ordered_json::array();
  for (const auto& [key, row] : error_rows(judgement))
    json["lists"].push_back({{"list", key.first}, {"of", key.second}, {"records", row.errors.size()},
        {"mean", row.mean()}, {"median", row.median()}, {"inside", row.share_inside()}});
  for (const auto& [name, ranking] : rankings(judgement))
    json["ranking"][name] = {{"jobs", ranking.jobs}, {"spearman", ranking.spearman}, {"regret", ranking.regret}};
  json["skipped"] = nlohmann::ordered_json::array();
  for (const InferenceSkip& skip : judgement.skipped) json["skipped"].push_back({{"id", skip.id}, {"why", skip.why}});
  return json.dump(2) + "\n";
}

namespace {

std::string cases_text(std::vector<InferenceCase> cases) {
  std::ranges::stable_sort(cases, std::greater{}, [](const InferenceCase& c) { return std::abs(c.error()); });
  print::Table table({{"error", print::Align::right}, {"measured", print::Align::right},
      {"forecast", print::Align::right}, {"in"}, {"record"}});
  for (const InferenceCase& c : cases)
    table.add({fmt::format("{:+.1f} %", 100 * c.error()), fmt::format("{:.4g}", c.measured),
        fmt::format("{:.4g}", c.predicted), c.metric, c.id});
  return "\n" + table.text("");
}

std::string first_words_text(const InferenceJudgement& judgement) {
  std::map<std::array<std::string, 4>, std::vector<double>> series;
  for (const InferenceCase& c : judgement.cases)
    if (c.first_measured_ms)
      series[{c.engine, c.version, c.model, c.gpu}].push_back(
          std::abs(*c.first_predicted_ms / *c.first_measured_ms - 1));
  if (series.empty()) return "";
  print::Table table({{"mean TTFT"}, {"version"}, {"model"}, {"GPU"}, {"records", print::Align::right},
      {"median error", print::Align::right}});
  for (const auto& [key, errors] : series)
    table.add({key[0], key[1], key[2], key[3], fmt::format("{}", errors.size()),
        fmt::format("{:.1f} %", 100 * percentile(errors, 0.5))});
  return "\n" + table.text("");
}

std::string rankings_text(const InferenceJudgement& judgement) {
  print::Table table({{"splits of one job"}, {"jobs", print::Align::right}, {"rank correlation", print::Align::right},
      {"first choice loses", print::Align::right}});
  const auto ranked = rankings(judgement);
  for (const auto& [name, ranking] : ranked)
    table.add({name, fmt::format("{}", ranking.jobs), fmt::format("{:.2f}", ranking.spearman),
        fmt::format("{:.1f} %", 100 * ranking.regret)});
  return ranked.empty() ? "" : "\n" + table.text("");
}

std::string errors_text(const InferenceJudgement& judgement) {
  print::Table table({{"list"}, {"records", print::Align::right}, {"mean error", print::Align::right},
      {"median", print::Align::right}, {"in 80 %", print::Align::right}});
  for (const auto& [key, row] : error_rows(judgement))
    table.add({key.second.empty() ? key.first : "  " + key.second, fmt::format("{}", row.errors.size()),
        fmt::format("{:.1f} %", 100 * row.mean()), fmt::format("{:.1f} %", 100 * row.median()),
        fmt::format("{:.0f} %", 100 * row.share_inside())});
  return table.text("");
}

std::string held_out_text(const InferenceJudgement& judgement) {
  const auto count = std::ranges::count_if(judgement.cases, &InferenceCase::held_out);
  if (count == 0) return "";
  return fmt::format(
      "\n{} of {} forecasts are by fits without the record's network; the others' rows are not fitted, or "
      "on one network alone; times to first tokens, also in rankings, are by the rows as they are\n",
      count, judgement.cases.size());
}

}  // namespace

std::string judgement_text(const InferenceJudgement& judgement, bool cases) {
  std::string text =
      errors_text(judgement) + held_out_text(judgement) + first_words_text(judgement) + rankings_text(judgement);
  std::map<std::string, int> why;
  for (const InferenceSkip& skip : judgement.skipped) ++why[skip.why];
  if (!why.empty()) text += fmt::format("\nskipped {} records\n", judgement.skipped.size());
  for (const auto& [reason, count] : why) text += fmt::format("  {} {}\n", count, reason);
  return cases ? text + cases_text(judgement.cases) : text;
}

}  // namespace stepcast::infer
