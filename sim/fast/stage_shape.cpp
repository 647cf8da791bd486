#include "sim/fast/stage_shape.h"

#include <algorithm>
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

void find_rank_kinds(StageShape& shape) {
  std::vector<std::vector<int>> stages(static_cast<std::size_t>(shape.ranks));
  for (int stage = 0; stage < shape.stages(); ++stage) stages[shape.rank_of[stage]].push_back(stage);
  const auto kind_of = [&](int stage) { return shape.kind_of[stage]; };
  for (const std::vector<int>& mine : stages) {
    const auto known = std::ranges::find_if(shape.rank_kinds,
        [&](const StageShape::RankKind& kind) { return std::ranges::equal(kind.stages, mine, {}, kind_of, kind_of); });
    shape.rank_kind_of.push_back(static_cast<int>(known - shape.rank_kinds.begin()));
    if (known != shape.rank_kinds.end()) continue;
    StageShape::RankKind kind;
    kind.stages = mine;
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

StageShape shape_of(int ranks, const std::vector<Runs>& stages, std::vector<int> rank_of) {
  StageShape shape;
  shape.ranks = ranks;
  shape.rank_of = std::move(rank_of);
  for (const Runs& runs : stages) shape.kind_of.push_back(kind_of_runs(shape, runs));
  shape.stages_of.assign(shape.kinds.size(), 0);
  for (const int kind : shape.kind_of) ++shape.stages_of[kind];
  shape.crossings = crossings_between(shape, 0, shape.stages() - 1);
  find_rank_kinds(shape);
  find_ways(shape);
  return shape;
}

void add_run(Runs& runs, int block, std::int64_t count) {
  if (count == 0) return;
  if (!runs.empty() && runs.back().block == block) runs.back().count += count;
  else runs.push_back({block, count});
}

}  // namespace

StageShape stage_shape(const Program& program) {
  std::vector<Runs> stages;
  std::vector<int> rank_of;
  for (const Chunk& chunk : program.chunks) {
    stages.push_back(chunk.runs);
    rank_of.push_back(chunk.stage);
  }
  return shape_of(static_cast<int>(program.stages), stages, std::move(rank_of));
}

StageShape relaid(const StageShape& shape, const std::vector<char>& is_layer, int ranks, std::vector<int> rank_of,
    std::span<const std::int64_t> layers) {
  Runs before, layer_runs, after;
  for (const int kind : shape.kind_of)
    for (const BlockRun& run : shape.kinds[kind])
      (is_layer[run.block] != 0 ? layer_runs : layer_runs.empty() ? before : after).push_back(run);
  std::vector<Runs> stages(layers.size());
  for (const BlockRun& run : before) add_run(stages.front(), run.block, run.count);
  auto next = layer_runs.begin();
  for (std::size_t stage = 0; stage < layers.size(); ++stage)
    for (std::int64_t left = layers[stage]; left > 0 && next != layer_runs.end();) {
      const std::int64_t here = std::min(left, next->count);
      add_run(stages[stage], next->block, here);
      left -= here;
      if ((next->count -= here) == 0) ++next;
    }
  for (const BlockRun& run : after) add_run(stages.back(), run.block, run.count);
  return shape_of(ranks, stages, std::move(rank_of));
}

}  // namespace stepcast::sim
