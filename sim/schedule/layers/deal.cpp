#include "sim/schedule/layers/deal.h"

#include <algorithm>

namespace stepcast::sim {
namespace {

constexpr std::size_t most_starts = 3;
constexpr int most_steps_timed = 500;

bool may_hold(const UnlikeStages& stages, const std::vector<int>& layers) {
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const bool end = stages.kinds.front().bare_ends && (stage == 0 || stage + 1 == layers.size());
    if (layers[stage] < (end ? 0 : 1)) return false;
  }
  return true;
}

struct Timed {
  std::vector<int> layers;
  double step = 0;
};

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
    TRY(const auto time, step(layers));
    --tries;
    if (time >= best.step * (1 - 1e-9)) continue;
    best = {std::move(layers), time};
    change = all.begin();
  }
  return best;
}

}  // namespace

Expected<std::vector<int>> deal_layers(const UnlikeStages& stages, const StepOfLayers& step) {
  TRY(auto front, split_front(stages));
  std::vector<Timed> starts;
  for (std::vector<int>& layers : front) {
    TRY(const auto time, step(layers));
    starts.push_back({std::move(layers), time});
  }
  std::ranges::stable_sort(starts, {}, &Timed::step);
  if (starts.size() > most_starts) starts.resize(most_starts);
  const auto all = changes(starts.front().layers.size());
  int tries = most_steps_timed;
  Timed best = starts.front();
  for (Timed& start : starts) {
    TRY(auto end, descend(stages, std::move(start), all, step, tries));
    if (end.step < best.step) best = std::move(end);
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
