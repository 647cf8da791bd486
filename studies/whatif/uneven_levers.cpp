#include "studies/whatif/uneven_levers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/table.h"

namespace stepcast::whatif {
namespace {

bool differ(const UnevenWords& words) {
  const sim::Unevenness& uneven = words.uneven;
  return words.documents || uneven.law || !uneven.costs.empty() || uneven.micro_batches > 0;
}

/// Other words for the same work; `applies` says whether they change anything.
struct WordsRow {
  const char *id, *name;
  bool (*applies)(const UnevenWords& words);
  void (*change)(UnevenWords& words);
};
const WordsRow words_rows[] = {
    {"sorted", "micro-batches sorted by cost (dealt=sorted)",
        [](const UnevenWords& w) { return differ(w) && w.uneven.dealing != sim::Dealing::sorted; },
        [](UnevenWords& w) { w.uneven.dealing = sim::Dealing::sorted; }},
    {"balanced", "the costliest micro-batch to the pipeline with the least (dealt=balanced)",
        [](const UnevenWords& w) { return differ(w) && w.uneven.dealing != sim::Dealing::balanced; },
        [](UnevenWords& w) { w.uneven.dealing = sim::Dealing::balanced; }},
    {"packed-by-cost", "documents packed by the pairs that attend (fill=balanced)",
        [](const UnevenWords& w) { return w.documents && w.documents->fill == sim::Fill::packed; },
        [](UnevenWords& w) { w.documents->fill = sim::Fill::balanced; }},
    {"both", "packed by pairs and dealt by cost (fill=balanced dealt=balanced)",
        [](const UnevenWords& w) {
          return w.documents && w.documents->fill == sim::Fill::packed &&
                 w.uneven.dealing == sim::Dealing::as_they_come;
        },
        [](UnevenWords& w) { w.documents->fill = sim::Fill::balanced, w.uneven.dealing = sim::Dealing::balanced; }},
    {"replaced", "the slow GPUs replaced", [](const UnevenWords& w) { return !w.named.empty() || w.uneven.slow > 0; },
        [](UnevenWords& w) { w.named.clear(), w.uneven.slow = 0; }},
    {"links", "the slow links repaired", [](const UnevenWords& w) { return w.rail > 1 || w.link; },
        [](UnevenWords& w) { w.rail = 1, w.link.reset(); }},
};

Expected<void> add_placed_experts(
    const Scenario& scenario, const Prediction& prediction, const UnevenWords& words, UnevenStudy& study) {
  if (!words.experts || words.experts->loads.empty()) return {};
  UnevenWords placed = words;
  placed.experts =
      ExpertRows{busiest_rank(*words.experts, scenario.network.row.experts.count, scenario.split->ep, true), 0, {}, ""};
  TRY(auto after, uneven_forecast(scenario, prediction, placed));
  study.levers.push_back({"experts", "experts placed on ranks by their rows", std::move(after)});
  return {};
}

std::vector<std::int64_t> layers_of(const Scenario& scenario) {
  if (!scenario.split->layers.empty()) return scenario.split->layers;
  const auto stages = scenario.split->pp;
  return std::vector<std::int64_t>(static_cast<std::size_t>(stages), scenario.network.row.layers / stages);
}

/// So many layers of the slowest stage on the others, round from the one with the fewest.
std::vector<std::int64_t> moved(std::vector<std::int64_t> layers, std::size_t from, std::int64_t count) {
  layers[from] -= count;
  for (; count > 0; --count) {
    std::size_t least = from == 0 ? 1 : 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage)
      if (stage != from && layers[stage] < layers[least]) least = stage;
    ++layers[least];
  }
  return layers;
}

/// The best of a layer less, two, ... on the slowest stage, as long as that helps.
void add_moved_layers(const Request& request, const Scenario& scenario, const UnevenWords& words, UnevenStudy& study) {
  const Split& split = *scenario.split;
  if (split.pp == 1 || split.chunks > 1) return;
  const auto from = static_cast<std::size_t>(study.now.slowest_stage);
  const std::vector<std::int64_t> now = layers_of(scenario);
  double best = study.now.mean_s;
  std::optional<UnevenLever> found;
  for (std::int64_t count = 1; count < now[from]; ++count) {
    const std::string layout = fmt::format("{}", fmt::join(moved(now, from, count), ","));
    Request other = request;
    if (!other.say("layout", layout, "--layout")) break;
    const auto scenario_there = run::complete(other);
    const auto forecast = scenario_there ? run::predict(*scenario_there) : tl::unexpected(scenario_there.error());
    if (!forecast || !forecast->step.memory.fits) break;
    auto after = uneven_forecast(*scenario_there, *forecast, words);
    if (!after || after->mean_s >= best) break;
    best = after->mean_s;
    after->even_s = study.now.even_s;
    found = UnevenLever{"layers", fmt::format("layers moved away from stage {} (--layout {})", from, layout), *after};
  }
  if (found) study.levers.push_back(std::move(*found));
}

}  // namespace

Expected<UnevenStudy> uneven_study(const Request& request, const UnevenWords& words) {
  TRY(const auto scenario, run::complete(request));
  TRY(const auto prediction, run::predict(scenario));
  UnevenStudy study;
  TRY(study.now, uneven_forecast(scenario, prediction, words));
  for (const WordsRow& row : words_rows) {
    if (!row.applies(words)) continue;
    UnevenWords changed = words;
    row.change(changed);
    TRY(auto after, uneven_forecast(scenario, prediction, changed));
    study.levers.push_back({row.id, row.name, std::move(after)});
  }
  TRY(add_placed_experts(scenario, prediction, words, study));
  add_moved_layers(request, scenario, words, study);
  std::ranges::stable_sort(study.levers, {}, [](const UnevenLever& lever) { return lever.after.mean_s; });
  return study;
}

std::string uneven_levers_text(const UnevenStudy& study) {
  std::string text = uneven_text(study.now).substr(1);
  if (study.levers.empty()) return text + "\nNothing here evens it out\n";
  Table table({{"What would even it out"}, {"step", Align::right}, {"+/-", Align::right}, {"change", Align::right}});
  for (const UnevenLever& lever : study.levers)
    table.add({lever.name, format_seconds(Seconds(lever.after.mean_s)), format_seconds(Seconds(lever.after.error_s)),
        fmt::format("{:+.1f} %", 100 * (lever.after.mean_s / study.now.mean_s - 1))});
  return text + "\n" + table.text("");
}

std::string uneven_levers_json(const UnevenStudy& study) {
  JsonWriter json;
  json.open();
  json.field("even_step_time_s", study.now.even_s);
  write_uneven(json, study.now);
  json.list("levers", study.levers, [&](const UnevenLever& lever) {
    json.fields("id", lever.id, "change", lever.name);
    write_uneven(json, lever.after);
  });
  json.close();
  return json.text();
}

}  // namespace stepcast::whatif
