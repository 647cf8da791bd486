#include "studies/sweep/search/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/quantity_text.h"
#include "studies/run/figures/phases.h"
#include "studies/run/split/split.h"
#include "studies/sweep/price/pricer.h"

namespace stepcast::sweep {
namespace {

constexpr std::array phases_of_figures = {Figure::other, Figure::forward, Figure::backward, Figure::pipeline_bubble,
    Figure::exposed_communication, Figure::gradient_sync, Figure::clip, Figure::optimizer, Figure::parameter_gather,
    Figure::host};
constexpr std::array split_figures = {Figure::tp, Figure::cp, Figure::pp, Figure::dp, Figure::ep};
// For one job these are the step time times a constant, or nearly so; the error of a comparison is that of step times.
constexpr std::array timed_objectives = {
    Figure::step_time, Figure::tokens_per_s_per_gpu, Figure::mfu, Figure::cost, Figure::energy};

double figure_at(const Figures& figures, Figure figure) { return figures[static_cast<std::size_t>(figure)]; }

bool same_split(const SweepRow& a, const SweepRow& b) {
  return std::ranges::all_of(
      split_figures, [&](Figure f) { return figure_at(a.figures, f) == figure_at(b.figures, f); });
}

bool same_gpus(const SweepRow& a, const SweepRow& b) {
  return figure_at(a.figures, Figure::gpus) == figure_at(b.figures, Figure::gpus);
}

bool is_timed(const std::string& objective) {
  const auto figure = find_figure(objective, "");
  return figure && contains(timed_objectives, *figure);
}

/// What ranks the rows, as a cost: throughputs are turned over.
double objective_cost(const SweepRow& row, Figure objective) {
  const double value = figure_at(row.figures, objective);
  return row_of(objective).more_is_better ? 1 / value : value;
}

std::optional<TiedRows> tied_rows(SpacePoints& points, const SweepResult& result, bool listed_all) {
  if (!is_timed(result.question.objective)) return std::nullopt;
  const Figure objective = *find_figure(result.question.objective, "");
  TiedRows tied;
  std::vector<std::vector<std::string>> choices;
  for (std::size_t i = 0; i < result.top.size(); ++i) {
    if (!same_gpus(result.top[i], result.top.front())) continue;
    tied.rows.push_back(i);
    tied.costs.push_back(objective_cost(result.top[i], objective));
    choices.push_back(result.top[i].choices);
  }
  if (!(tied.costs.front() > 0) || !std::isfinite(tied.costs.back())) return std::nullopt;
  const Scenario& scenario = points.setting(points.space().digits(result.top.front().index)).scenario;
  const double spread = pair_spread_of(step_fit(scenario), scenario.network.row.experts.count > 0);
  tied.ties = ties_of(tied.costs, choices, spread, listed_all);
  return tied;
}

std::optional<Rival> runner_up_of(const std::vector<SweepRow>& top) {
  std::optional<Rival> copy;
  for (std::size_t i = 1; i < top.size(); ++i) {
    if (!same_gpus(top[i], top.front())) continue;
    if (!same_split(top[i], top.front())) return Rival{top[i], i + 1, true};
    if (!copy) copy = Rival{top[i], i + 1, false};
  }
  return copy;
}

/// The values of one axis in the order in which the rule of thumb tries them.
using Tries = std::vector<std::uint16_t>;

class RuleOfThumb {
 public:
  RuleOfThumb(SpacePoints& points, std::uint16_t gpus_digit) : points_(points), pricer_(points) {
    for (const AxisId axis : {AxisId::micro_batch, AxisId::chunks}) at(axis) = smallest_first(axis).front();
    at(AxisId::gpus) = gpus_digit;
    at(AxisId::zero) = usual_sharding();
  }

  std::optional<Digits> find() {
    for (const std::uint16_t tensor : widest_in_node()) {
      at(AxisId::tp) = tensor;
      for (const std::uint16_t recompute : cheapest_first())
        if (at(AxisId::recompute) = recompute; search_stages()) return digits_;
    }
    return std::nullopt;
  }

 private:
  std::uint16_t& at(AxisId axis) { return digits_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] const std::vector<std::int64_t>& numbers(AxisId axis) const {
    return points_.space().numbers[static_cast<std::size_t>(axis)];
  }

  [[nodiscard]] Tries smallest_first(AxisId axis) const {
    Tries tries;
    for (std::size_t i = 0; i < numbers(axis).size(); ++i) tries.push_back(static_cast<std::uint16_t>(i));
    std::ranges::sort(tries, [&](auto a, auto b) { return numbers(axis)[a] < numbers(axis)[b]; });
    return tries;
  }

  /// Up to a node, largest first; narrower ones only where wider ones divide nothing or never fit.
  [[nodiscard]] Tries widest_in_node() {
    const std::int64_t node = points_.setting(digits_).scenario.machine.row.levels.front().gpus;
    Tries tries = smallest_first(AxisId::tp);
    std::reverse(tries.begin(), tries.end());
    std::stable_partition(tries.begin(), tries.end(), [&](auto i) { return numbers(AxisId::tp)[i] <= node; });
    return tries;
  }

  [[nodiscard]] Tries cheapest_first() const {
    const auto& words = points_.space().values[static_cast<std::size_t>(AxisId::recompute)];
    const auto weight = [&](std::uint16_t i) { return words[i] == "none" ? 0 : words[i] == "selective" ? 1 : 2; };
    Tries tries(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) tries[i] = static_cast<std::uint16_t>(i);
    std::ranges::stable_sort(tries, [&](auto a, auto b) { return weight(a) < weight(b); });
    return tries;
  }

  /// Megatron's distributed optimizer where the space has it.
  [[nodiscard]] std::uint16_t usual_sharding() const {
    const auto& stages = numbers(AxisId::zero);
    const auto one = std::ranges::find(stages, 1);
    return static_cast<std::uint16_t>(one == stages.end() ? 0 : one - stages.begin());
  }

  bool search_stages() {
    for (const std::uint16_t stages : smallest_first(AxisId::pp))
      for (const std::uint16_t context : smallest_first(AxisId::cp))
        for (const std::uint16_t experts : smallest_first(AxisId::ep)) {
          at(AxisId::pp) = stages, at(AxisId::cp) = context, at(AxisId::ep) = experts;
          if (can_run() && fits()) return true;
        }
    return false;
  }

  bool can_run() {
    const SplitWishes wishes = points_.wishes(digits_);
    const auto split = points_.split(digits_);
    return split && broken_rule(*split, wishes.size(), points_.network()) == nullptr;
  }

  bool fits() {
    const double capacity = points_.setting(digits_).scenario.machine.row.gpu.memory.value();
    const FastPrice price = pricer_.price(digits_, AxisId{}, {capacity, capacity});
    if (price.too_large) return false;
    if (price.bounded) return price.memory_bytes <= capacity;
    const auto prediction = points_.predict(digits_);
    return prediction && prediction->step.memory.fits;
  }

  SpacePoints& points_;
  Pricer pricer_;
  Digits digits_{};
};

/// The rule of thumb's choice at the winner's GPU count, forecast.
void add_naive(SpacePoints& points, const SweepRow& winner, SweepVerdict& verdict) {
  const Space& space = points.space();
  const auto digits = rule_of_thumb(points, space.digits(winner.index)[static_cast<std::size_t>(AxisId::gpus)]);
  verdict.naive_in_vain = !digits;
  if (!digits) return;
  verdict.naive_wins = space.index(*digits) == winner.index;
  const auto scenario = points.point(*digits);
  if (verdict.naive_wins || !scenario) return;
  const auto prediction = points.predict(*digits, **scenario);
  if (!prediction) return;
  SweepRow row{
      space.index(*digits), {}, figures_of(**scenario, points.wishes(*digits), *prediction, space.price_per_gpu_hour)};
  for (const AxisRow& axis : axis_rows()) row.choices.push_back(space.value(*digits, axis.id));
  const bool other = !same_split(row, winner);
  verdict.naive = Rival{std::move(row), 0, other};
}

struct Relief {
  std::string_view key, advice;
  bool by_stages = false;  ///< more of them make it smaller
};
/// By the key of lifetime_rows.
constexpr Relief reliefs[] = {{"weights", "more tp or pp, or --zero 3", true},
    {"gradients", "more tp or pp, or --zero 2 or 3", true},
    {"optimizer", "more tp or pp, more dp at --zero 1 or above, or more GPUs", true},
    {"activations", "--recompute full, a smaller --micro-batch, or more tp (with sp) or cp"},
    {"gathered_weights", "more tp or pp, or a lower --zero", true},
    {"temporary", "a smaller --micro-batch, or more tp or cp"}};

/// Pipelines beyond the nearest miss that the sweep did not try, of those that GPUs and batch allow: "; --pp 4,8,16
/// --layout balanced goes with these GPUs and this batch"; "" where there is none.
std::string deeper_pipelines(const SpacePoints& points, const Digits& digits) {
  constexpr std::int64_t deepest = 64;
  const SplitWishes at = points.wishes(digits);
  const std::int64_t layers = points.network().layers;
  const auto& tried = points.space().values[static_cast<std::size_t>(AxisId::pp)];
  std::string list;
  bool uneven = false;
  for (std::int64_t pp = 2; pp <= std::min(layers, deepest); pp *= 2) {
    const std::int64_t ways = at.tp * at.cp * pp;
    if (pp <= at.pp || at.gpus % ways != 0 || at.global_batch % (at.micro_batch * (at.gpus / ways)) != 0) continue;
    if (contains(tried, std::to_string(pp))) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ",", pp);
    uneven = uneven || layers % pp != 0;
  }
  if (list.empty()) return {};
  return fmt::format("; --pp {}{} goes with these GPUs and this batch", list, uneven ? " --layout balanced" : "");
}

}  // namespace

std::span<const Figure> phase_figures() { return phases_of_figures; }

std::optional<Digits> rule_of_thumb(SpacePoints& points, std::uint16_t gpus_digit) {
  return RuleOfThumb(points, gpus_digit).find();
}

SweepVerdict verdict_of(SpacePoints& points, const SweepResult& result, bool listed_all) {
  SweepVerdict verdict;
  if (result.top.empty()) return verdict;
  verdict.tied = tied_rows(points, result, listed_all);
  verdict.runner_up = runner_up_of(result.top);
  add_naive(points, result.top.front(), verdict);
  return verdict;
}

std::vector<PhaseGap> phase_gaps(const Figures& winner, const Figures& rival) {
  std::vector<PhaseGap> gaps;
  for (const Figure figure : phases_of_figures)
    gaps.push_back({figure, figure_at(winner, figure) - figure_at(rival, figure)});
  std::ranges::stable_sort(gaps, [](const PhaseGap& a, const PhaseGap& b) { return a.seconds < b.seconds; });
  return gaps;
}

Expected<Overflow> overflow_of(SpacePoints& points, const SweepResult& result) {
  Overflow overflow{result.tally.smallest_overflow_index, result.tally.smallest_overflow_bytes, "", ""};
  TRY(const auto prediction, points.predict(points.space().digits(overflow.index)));
  const MemoryReport& memory = prediction.step.memory;
  const auto rows = lifetime_rows(memory);
  const auto smaller = [](const LifetimeRow& a, const LifetimeRow& b) { return a.bytes < b.bytes; };
  const auto largest = std::ranges::max_element(rows, smaller);
  overflow.largest = fmt::format("{} {} of {}", largest->name, format_bytes(largest->bytes), format_bytes(memory.peak));
  for (const Relief& relief : reliefs)
    if (relief.key == largest->key) {
      overflow.advice = relief.advice;
      if (relief.by_stages) overflow.advice += deeper_pipelines(points, points.space().digits(overflow.index));
    }
  return overflow;
}

std::string broken_rule_text(SpacePoints& points, const SweepTally& tally) {
  constexpr std::uint64_t most_asked = 100'000;
  std::uint64_t most = 0;
  const SplitRule* rule = nullptr;
  for (const SplitRule& one : split_rules())
    if (const auto count = tally.illegal.find(std::string(one.id));
        count != tally.illegal.end() && count->second > most)
      most = count->second, rule = &one;
  if (rule == nullptr) return "";
  const Space& space = points.space();
  for (std::uint64_t index = 0; index < std::min(most_asked, space.size()); ++index) {
    const Digits digits = space.digits(index);
    const SplitWishes wishes = points.wishes(digits);
    const auto split = points.split(digits);
    if (!split || broken_rule(*split, wishes.size(), points.network()) != rule) continue;
    return to_text(rule->explain(*split, wishes.size(), points.network(), flag_of));
  }
  return "";
}

}  // namespace stepcast::sweep
