#include "sim/fast/stage_shape.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace stepcast::sim {

bool equal_runs(const std::vector<BlockRun>& a, const std::vector<BlockRun>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
      [](const BlockRun& x, const BlockRun& y) { return x.block == y.block && x.count == y.count; });
}

namespace {

int kind_of_runs(StageShape& shape, const std::vector<BlockRun>& runs) {
  const auto known =
      std::find_if(shape.kinds.begin(), shape.kinds.end(), [&](const auto& kind) { return equal_runs(kind, runs); });
  const int kind = static_cast<int>(known - shape.kinds.begin());
  if (known == shape.kinds.end()) shape.kinds.push_back(runs);
  return kind;
}

/// Stages of all ranks, one rank's behind another's, ascending on each.
struct StagesByRank {
  std::vector<int> stages, first;  ///< first: by rank, and where the last one's end
  [[nodiscard]] std::span<const int> of(int rank) const {
    return {stages.data() + first[rank], static_cast<std::size_t>(first[rank + 1] - first[rank])};
  }
};

StagesByRank stages_by_rank(const StageShape& shape) {
  StagesByRank by_rank;
  by_rank.first.assign(static_cast<std::size_t>(shape.ranks) + 1, 0);
  for (const int rank : shape.rank_of) ++by_rank.first[rank + 1];
  std::partial_sum(by_rank.first.begin(), by_rank.first.end(), by_rank.first.begin());
  by_rank.stages.resize(shape.rank_of.size());
  std::vector<int> next(by_rank.first.begin(), by_rank.first.end() - 1);
  for (int stage = 0; stage < shape.stages(); ++stage) by_rank.stages[next[shape.rank_of[stage]]++] = stage;
  return by_rank;
}

void find_rank_kinds(StageShape& shape) {
  const StagesByRank by_rank = stages_by_rank(shape);
  const auto kind_of = [&](int stage) { return shape.kind_of[stage]; };
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const std::span<const int> mine = by_rank.of(rank);
    const auto known = std::ranges::find_if(shape.rank_kinds,
        [&](const StageShape::RankKind& kind) { return std::ranges::equal(kind.stages, mine, {}, kind_of, kind_of); });
    shape.rank_kind_of.push_back(static_cast<int>(known - shape.rank_kinds.begin()));
    if (known != shape.rank_kinds.end()) continue;
    StageShape::RankKind kind;
    kind.stages.assign(mine.begin(), mine.end());
    kind.count.assign(shape.kinds.size(), 0);
    for (const int stage : mine) {
      ++kind.count[shape.kind_of[stage]];
      const auto& runs = shape.kinds[shape.kind_of[stage]];
      kind.runs.insert(kind.runs.end(), runs.begin(), runs.end());
    }
    shape.rank_kinds.push_back(std::move(kind));
  }
}

int crossings_between(const StageShape& shape, int from, int to) {
  int crossings = 0;
  for (int stage = from; stage < to; ++stage) crossings += shape.rank_of[stage] != shape.rank_of[stage + 1] ? 1 : 0;
  return crossings;
}

int first_stage(const StageShape& shape, int rank) {
  return static_cast<int>(std::ranges::find(shape.rank_of, rank) - shape.rank_of.begin());
}

StageShape::Way way_to(const StageShape& shape, int rank) {
  StageShape::Way way;
  way.rank = rank;
  way.kind = shape.rank_kind_of[rank];
  way.first = first_stage(shape, rank);
  way.before.assign(shape.kinds.size(), 0);
  for (int stage = 0; stage < way.first; ++stage) ++way.before[shape.kind_of[stage]];
  way.crossings_before = crossings_between(shape, 0, way.first);
  for (int stage = way.first; stage < shape.stages(); ++stage) {
    if (shape.rank_of[stage] != rank) continue;
    std::vector<int> behind(shape.kinds.size(), 0);
    for (int later = stage; later < shape.stages(); ++later) ++behind[shape.kind_of[later]];
    way.behind.push_back(std::move(behind));
    way.crossings_behind.push_back(crossings_between(shape, stage, shape.stages() - 1));
  }
  return way;
}

void find_ways(StageShape& shape) {
  for (int kind = 0; kind < static_cast<int>(shape.rank_kinds.size()); ++kind) {
    std::vector<int> of;
    for (int rank = 0; rank < shape.ranks; ++rank)
      if (shape.rank_kind_of[rank] == kind) of.push_back(rank);
    const auto [least, most] = std::ranges::minmax_element(of, {}, [&](int rank) { return first_stage(shape, rank); });
    shape.ways.push_back(way_to(shape, *least));
    if (*most != *least) shape.ways.push_back(way_to(shape, *most));
  }
}

using Runs = std::vector<BlockRun>;

/// Of stages whose kinds are known.
void finish(StageShape& shape) {
  shape.stages_of.assign(shape.kinds.size(), 0);
  for (const int kind : shape.kind_of) ++shape.stages_of[kind];
  shape.crossings = crossings_between(shape, 0, shape.stages() - 1);
  find_rank_kinds(shape);
  find_ways(shape);
}

void add_run(Runs& runs, int block, std::int64_t count) {
  if (count == 0) return;
  if (!runs.empty() && runs.back().block == block) runs.back().count += count;
  else runs.push_back({block, count});
}

}  // namespace

StageShape stage_shape(const Program& program) {
  StageShape shape;
  shape.ranks = static_cast<int>(program.stages);
  for (const Chunk& chunk : program.chunks) {
    shape.rank_of.push_back(chunk.stage);
    shape.kind_of.push_back(kind_of_runs(shape, chunk.runs));
  }
  finish(shape);
  return shape;
}

StageShape relaid(const StageShape& shape, const std::vector<char>& is_layer, int ranks, std::vector<int> rank_of,
    std::span<const std::int64_t> layers) {
  Runs before, layer_runs, after;
  for (const int kind : shape.kind_of)
    for (const BlockRun& run : shape.kinds[kind])
      (is_layer[run.block] != 0 ? layer_runs : layer_runs.empty() ? before : after).push_back(run);
  StageShape laid;
  laid.ranks = ranks;
  laid.rank_of = std::move(rank_of);
  laid.kind_of.reserve(layers.size());
  Runs runs;
  auto next = layer_runs.begin();
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    runs.clear();
    if (stage == 0)
      for (const BlockRun& run : before) add_run(runs, run.block, run.count);
    for (std::int64_t left = layers[stage]; left > 0 && next != layer_runs.end();) {
      const std::int64_t here = std::min(left, next->count);
      add_run(runs, next->block, here);
      left -= here;
      if ((next->count -= here) == 0) ++next;
    }
    if (stage + 1 == layers.size())
      for (const BlockRun& run : after) add_run(runs, run.block, run.count);
    laid.kind_of.push_back(kind_of_runs(laid, runs));
  }
  finish(laid);
  return laid;
}

}  // namespace stepcast::sim
