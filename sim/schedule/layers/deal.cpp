#include "sim/schedule/layers/deal.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace stepcast::sim {
namespace {

constexpr std::size_t most_starts = 3;
constexpr int most_steps_timed = 500;
constexpr double noticeably = 1 - 1e-9;  ///< less by more than rounding

bool may_hold(const UnlikeStages& stages, const std::vector<int>& layers) {
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const bool end = stages.kinds.front().bare_ends && (stage == 0 || stage + 1 == layers.size());
    if (layers[stage] < (end ? 0 : 1)) return false;
  }
  return true;
}

struct Timed {
  std::vector<int> layers;
  DealtStep step;
};

/// The better the smaller.
std::pair<double, double> worth(const Timed& timed) { return {timed.step.lacking(), timed.step.time}; }

bool is_better(const DealtStep& a, const DealtStep& b) {
  if (a.lacking() < b.lacking() * noticeably) return true;
  return a.lacking() * noticeably <= b.lacking() && a.time < b.time * noticeably;
}

/// The first stages hold one more where layers do not divide.
std::vector<int> even_layers(const UnlikeStages& stages) {
  const PartitionProblem& any = stages.kinds.front();
  const int all = static_cast<int>(any.layers.size());
  std::vector<int> layers(static_cast<std::size_t>(any.stages), all / any.stages);
  for (int stage = 0; stage < all % any.stages; ++stage) ++layers[static_cast<std::size_t>(stage)];
  return layers;
}

/// What a stage would cost with one layer more.
double cost_with_one_more(const UnlikeStages& stages, const std::vector<int>& layers, std::size_t stage) {
  const PartitionProblem& costs = stages.kinds[static_cast<std::size_t>(stages.kind_of_stage[stage])];
  const auto begin = layers.begin() + static_cast<std::ptrdiff_t>(stage);
  const int first = std::accumulate(layers.begin(), begin, 0);
  const int last = std::min(first + *begin + 1, static_cast<int>(costs.layers.size()));
  const double ends = (stage == 0 ? costs.embedding : 0) + (stage + 1 == layers.size() ? costs.head + costs.loss : 0);
  return std::accumulate(costs.layers.begin() + first, costs.layers.begin() + last, ends);
}

/// Those with room first, of these the least costly.
std::vector<std::size_t> takers(const UnlikeStages& stages, const Timed& now) {
  std::vector<std::pair<bool, double>> keys;
  for (std::size_t stage = 0; stage < now.layers.size(); ++stage)
    keys.emplace_back(now.step.over[stage] >= 0, cost_with_one_more(stages, now.layers, stage));
  std::vector<std::size_t> order(now.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t stage) { return keys[stage]; });
  return order;
}

/// A layer leaves a stage that lacks memory, the fullest first, for one where less is lacking then.
Expected<std::optional<Timed>> with_less_lacking(
    const UnlikeStages& stages, const Timed& now, const StepOfLayers& step, int& tries) {
  const std::vector<double>& over = now.step.over;
  std::vector<std::size_t> givers(over.size());
  std::iota(givers.begin(), givers.end(), std::size_t{0});
  std::ranges::stable_sort(givers, std::ranges::greater{}, [&](std::size_t stage) { return over[stage]; });
  const std::vector<std::size_t> to = takers(stages, now);
  for (auto from = givers.begin(); from != givers.end() && over[*from] > 0; ++from)
    for (auto taker = to.begin(); taker != to.end() && tries > 0; ++taker) {
      std::vector<int> layers = now.layers;
      --layers[*from], ++layers[*taker];
      if (*from == *taker || !may_hold(stages, layers)) continue;
      TRY(auto timed, step(layers));
      --tries;
      if (timed.lacking() < now.step.lacking() * noticeably)
        return std::optional(Timed{std::move(layers), std::move(timed)});
    }
  return std::optional<Timed>();
}

/// What all stages lack is a sum of convex functions of their layers, for a layer takes as much as the one before it:
/// where no move of one layer makes it less, no deal does.
Expected<Timed> made_to_fit(const UnlikeStages& stages, Timed start, const StepOfLayers& step) {
  int tries = most_steps_timed;
  while (start.step.lacking() > 0) {
    TRY(auto less, with_less_lacking(stages, start, step, tries));
    if (!less) break;
    start = std::move(*less);
  }
  return start;
}

/// What goes from stage to stage: one layer; between few stages two, or one each between two pairs.
std::vector<std::vector<int>> changes(std::size_t parts) {
  std::vector<std::vector<int>> single, all;
  for (std::size_t from = 0; from < parts; ++from)
    for (std::size_t to = 0; to < parts; ++to) {
      if (from == to) continue;
      std::vector<int>& change = single.emplace_back(parts, 0);
      --change[from], ++change[to];
    }
  all = single;
  constexpr std::size_t few = 8;
  if (parts > few) return all;
  for (const auto& one : single)
    for (const auto& other : single) {
      std::vector<int>& both = all.emplace_back(one);
      for (std::size_t stage = 0; stage < parts; ++stage) both[stage] += other[stage];
    }
  return all;
}

/// Whatever change helps first, and what of all of them helps from there.
Expected<Timed> descend(const UnlikeStages& stages, Timed best, const std::vector<std::vector<int>>& all,
    const StepOfLayers& step, int& tries) {
  for (auto change = all.begin(); change != all.end() && tries > 0;) {
    std::vector<int> layers = best.layers;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) layers[stage] += (*change)[stage];
    ++change;
    if (layers == best.layers || !may_hold(stages, layers)) continue;
    TRY(auto timed, step(layers));
    --tries;
    if (!is_better(timed, best.step)) continue;
    best = {std::move(layers), std::move(timed)};
    change = all.begin();
  }
  return best;
}

}  // namespace

double DealtStep::lacking() const {
  return std::accumulate(
      over.begin(), over.end(), 0.0, [](double sum, double stage) { return sum + std::max(0.0, stage); });
}

Expected<std::vector<int>> deal_layers(const UnlikeStages& stages, const StepOfLayers& step) {
  TRY(auto front, split_front(stages));
  std::vector<Timed> starts;
  for (std::vector<int>& layers : front) {
    TRY(auto timed, step(layers));
    starts.push_back({std::move(layers), std::move(timed)});
  }
  const bool all_fit = std::ranges::all_of(starts, [](const Timed& start) { return start.step.lacking() == 0; });
  std::ranges::stable_sort(starts, {}, worth);
  if (starts.size() > most_starts) starts.resize(most_starts);
  if (std::vector<int> even = even_layers(stages); !all_fit && may_hold(stages, even)) {
    TRY(auto timed, step(even));
    starts.push_back({std::move(even), std::move(timed)});
  }
  for (Timed& start : starts) {
    TRY(start, made_to_fit(stages, std::move(start), step));
  }
  const auto all = changes(starts.front().layers.size());
  int tries = most_steps_timed;
  Timed best = *std::ranges::min_element(starts, {}, worth);
  for (Timed& start : starts) {
    TRY(auto end, descend(stages, std::move(start), all, step, tries));
    if (worth(end) < worth(best)) best = std::move(end);
  }
  return std::move(best.layers);
}

std::vector<std::int64_t> deal_micro_batches(const std::vector<UnlikePipelines>& kinds, std::int64_t micro_batches) {
  std::vector<std::int64_t> most(kinds.size(), 1);
  std::int64_t room = 0;
  for (const UnlikePipelines& kind : kinds) room += kind.count;
  const auto end = [&](std::size_t kind) {
    return kinds[kind].fixed + kinds[kind].each * static_cast<double>(most[kind] + 1);
  };
  while (room < micro_batches) {
    std::size_t next = 0;
    for (std::size_t kind = 1; kind < kinds.size(); ++kind)
      if (end(kind) < end(next)) next = kind;
    ++most[next];
    room += kinds[next].count;
  }
  return most;
}

}  // namespace stepcast::sim
