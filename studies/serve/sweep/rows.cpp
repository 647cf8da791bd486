#include "studies/serve/sweep/rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::serve::sweeping {
namespace {

/// As a request of mean lengths sees it, for targets.
sim::Served mean_request(const RowFigures& figures, double output) {
  sim::Served request;
  request.output = std::max<std::int64_t>(1, std::llround(output));
  request.first = figures.first_word.value_or(Seconds(0));
  request.last = request.first + figures.per_word * static_cast<double>(request.output - 1);
  return request;
}

bool needs_first_word(const Target& target) { return target.name != "tpot"; }

}  // namespace

std::string reason_of(const Error& error) {
  return error.where.empty() ? error.what : fmt::format("{}: {}", error.where, error.what);
}

Rows::Rows(const Asked& asked) : asked_(&asked), output_(asked.law.outputs.mean()) {}

bool Rows::take(Candidate& candidate, double load, const sim::SteadyState& state, std::optional<double> busy) {
  using enum sim::MeanFieldDoubt;
  if (state.doubt == never_fits || state.doubt == beyond_saturation) {
    refuse(sim::to_text(state.doubt), 1);
    return false;
  }
  const auto gpus = static_cast<double>(candidate.configuration.gpus);
  Row row;
  row.state = state, row.load = load, row.prompts_busy = busy;
  row.mean = {state.words_per_second / gpus, 1 / state.per_word.value(), state.per_word, state.first_word};
  row.target_open = !row.mean.first_word && std::ranges::any_of(asked_->targets, needs_first_word);
  const bool sure = row.sure();
  if (sure && misses(row)) {
    refuse("outside the targets", 1);
    return false;
  }
  if (!candidate.number) {
    candidate.number = configurations.size();
    configurations.push_back(candidate.configuration);
  }
  row.configuration = *candidate.number;
  price(row);
  rows.push_back(std::move(row));
  return sure;
}

std::optional<double> Rows::price_of(const std::string& machine) const {
  auto found = asked_->prices.find(machine);
  if (found == asked_->prices.end()) found = asked_->prices.find("");
  return found == asked_->prices.end() ? std::nullopt : std::optional(found->second);
}

void Rows::price(Row& row) const {
  const Configuration& configuration = configurations[row.configuration];
  auto price = price_of(configuration.machine);  // of a GPU, in the mean over both pools
  if (!price) return;
  if (const auto& prompts = configuration.prompts; prompts && prompts->machine != configuration.machine) {
    const double share = static_cast<double>(prompts->gpus()) / static_cast<double>(configuration.gpus);
    *price += share * (*price_of(prompts->machine) - *price);
  }
  constexpr double hour = 3600, million = 1e6;
  row.cost = *price / hour / row.figures().words_per_gpu * million;
}

bool Rows::misses(const Row& row) const {
  const RowFigures& figures = row.figures();
  const sim::Served request = mean_request(figures, output_);
  return std::ranges::any_of(asked_->targets, [&](const Target& target) {
    const bool known = figures.first_word.has_value() || !needs_first_word(target);
    return known && target.of(request) >= target.most;
  });
}

}  // namespace stepcast::serve::sweeping
