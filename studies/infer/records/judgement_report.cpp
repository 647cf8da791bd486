#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

}  // namespace

std::string judgement_json(const InferenceJudgement& judgement) {
  nlohmann::ordered_json json;
  json["cases"] = nlohmann::ordered_json::array();
  for (const InferenceCase& c : judgement.cases) {
    json["cases"].push_back({{"id", c.id}, {"judged_as", c.judged_as}, {"metric", c.metric}, {"measured", c.measured},
        {"predicted", c.predicted}, {"interval", {c.low, c.high}}, {"error", c.error()}, {"engine", c.engine},
        {"gpu", c.gpu}, {"model", c.model}, {"weights", c.weights}, {"waves", c.phase.waves},
        {"prefill_s", c.phase.prefill.value()}, {"decode_s", c.phase.decode.value()}});
    if (c.first_measured_ms) {
      json["cases"].back()["ttft_measured_ms"] = *c.first_measured_ms;
      json["cases"].back()["ttft_predicted_ms"] = *c.first_predicted_ms;
    }
  }
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
  for (auto& [key, errors] : series) {
    std::ranges::sort(errors);
    table.add({key[0], key[1], key[2], key[3], fmt::format("{}", errors.size()),
        fmt::format("{:.1f} %", 100 * errors[errors.size() / 2])});
  }
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

}  // namespace

std::string judgement_text(const InferenceJudgement& judgement, bool cases) {
  std::map<std::string, std::vector<const InferenceCase*>> lists;
  for (const InferenceCase& c : judgement.cases)
    lists[(c.judged_as.empty() ? "not judged" : c.judged_as)].push_back(&c);
  print::Table table({{"list"}, {"records", print::Align::right}, {"mean error", print::Align::right},
      {"median", print::Align::right}, {"in 80 %", print::Align::right}});
  for (const auto& [name, listed] : lists) {
    std::vector<double> errors;
    double inside = 0, sum = 0;
    for (const InferenceCase* c : listed) {
      errors.push_back(std::abs(c->error()));
      sum += errors.back();
      inside += c->measured >= c->low && c->measured <= c->high ? 1 : 0;
    }
    std::ranges::sort(errors);
    const auto n = static_cast<double>(listed.size());
    table.add({name, fmt::format("{}", listed.size()), fmt::format("{:.1f} %", 100 * sum / n),
        fmt::format("{:.1f} %", 100 * errors[errors.size() / 2]), fmt::format("{:.0f} %", 100 * inside / n)});
  }
  std::string text = table.text("") + first_words_text(judgement) + rankings_text(judgement);
  std::map<std::string, int> why;
  for (const InferenceSkip& skip : judgement.skipped) ++why[skip.why];
  if (!why.empty()) text += fmt::format("\nskipped {} records\n", judgement.skipped.size());
  for (const auto& [reason, count] : why) text += fmt::format("  {} {}\n", count, reason);
  return cases ? text + cases_text(judgement.cases) : text;
}

}  // namespace stepcast::infer
