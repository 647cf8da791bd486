// Pipelines of made-up stages, for tests of sim/fast: which rank has which stage follows from the schedule, what a
// stage costs is drawn.
#pragma once

#include <random>
#include <string>

#include "sim/fast/stage_shape.h"
#include "sim/fast/step_bound.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::sim::small_shapes {

/// Kinds that a fast price knows: one copy of the model, whole sequences, an order that follows from sizes.
inline std::vector<const ScheduleKind*> priced_kinds() {
  std::vector<const ScheduleKind*> kinds;
  for (const ScheduleKind& kind : schedule_kinds())
    if (schedule_traits(kind).supported) kinds.push_back(&kind);
  return kinds;
}

inline int draw(std::mt19937& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}

/// A legal size of up to `most_ranks` and `most_micro_batches`, or ranks == 0 where a few tries found none.
inline ScheduleSize legal_size(const ScheduleKind& kind, int most_ranks, int most_micro_batches, std::mt19937& random) {
  for (int i = 0; i < 50; ++i) {
    ScheduleSize size{draw(random, 1, most_ranks), kind.takes_chunks ? draw(random, 1, 4) : 1,
        draw(random, 1, most_micro_batches), 0};
    if (random() % 2 == 0) size.micro_batches = std::max(1, size.micro_batches / size.ranks * size.ranks);
    if (kind.own_chunks > 0) size.chunks = kind.own_chunks;
    if (check_size(kind, size)) return size;
  }
  return {0, 1, 1, 0};
}

/// Of an order's stages, all alike, dense layers in front of the others, or either at random; an embedding in front and
/// a head at the end, as all networks have.
inline Program program_of(const Order& order, std::mt19937& random) {
  Program program;
  program.stages = order.ranks;
  const int pattern = draw(random, 0, 2), stages = order.stages(), dense = draw(random, 0, stages);
  for (int stage = 0; stage < stages; ++stage) {
    const int layer = pattern == 0 ? 0 : pattern == 1 ? static_cast<int>(stage >= dense) : draw(random, 0, 1);
    std::vector<BlockRun> runs = {{layer, 1 + layer}};
    if (stage == 0) runs.insert(runs.begin(), {2, 1});
    if (stage == stages - 1) runs.push_back({3, 1});
    program.chunks.push_back({order.rank_of[stage], 0, std::move(runs)});
  }
  return program;
}

/// Costs by kind of stage; `equal`: the same of all.
inline UnitsOnShape units_of(const StageShape& shape, bool equal, std::mt19937& random) {
  UnitsOnShape units;
  units.shape = &shape;
  const auto seconds = [&] { return 0.1 * draw(random, 0, 40); };
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    StageCost cost;
    cost.forward = seconds() + 0.1, cost.input_grad = seconds(), cost.weight_grad = seconds() + 0.1;
    units.stages.push_back(equal && kind > 0 ? units.stages.front() : cost);
  }
  for (const StageShape::RankKind& rank : shape.rank_kinds) {
    UnitsOnShape::OnRank on;
    for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
      on.work += rank.count[kind] * units.stages[kind].all();
      on.split_work += rank.count[kind] * (units.stages[kind].forward + units.stages[kind].input_grad);
    }
    units.ranks.push_back(on);
  }
  return units;
}

inline std::string sized_name(const ScheduleKind& kind, const ScheduleSize& size) {
  return kind.id + " p " + std::to_string(size.ranks) + " v " + std::to_string(size.chunks) + " m " +
         std::to_string(size.micro_batches);
}

}  // namespace stepcast::sim::small_shapes
