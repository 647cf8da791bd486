#include "sim/fast/step_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/step/beside.h"

namespace stepcast::sim {

namespace {

double sum_over(
    const std::vector<int>& counts, const std::vector<StageCost>& stages, double (*time)(const StageCost&)) {
  double sum = 0;
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    if (counts[kind] > 0) sum += counts[kind] * time(stages[kind]);
  return sum;
}

double forward_of(const StageCost& stage) { return stage.forward; }
double backward_of(const StageCost& stage) { return stage.backward(); }
double input_grad_of(const StageCost& stage) { return stage.input_grad; }
double all_of(const StageCost& stage) { return stage.all(); }

/// Blocking hops hold a rank before each action that receives from a neighbour. 1F1B sends and receives with the same
/// peer at once while it is steady, one after the other while it fills and drains (sim/schedule/engine/engine.h).
double held_by_hops(const StageShape& shape, const StageShape::Way& way, const ScheduleTraits& traits, double m) {
  const int p = shape.ranks, rank = way.rank;
  if (p == 1) return 0;
  if (traits.one_by_one) {
    const double warm_up = std::min<double>(m, p - 1 - rank);
    if (rank == 0) return m + std::max(0.0, warm_up - 1);
    return rank == p - 1 ? m - 1 : 2 * m + 2 * std::max(0.0, warm_up - 1) - 1;
  }
  double receives = 0;
  for (int stage = 0; stage < shape.stages(); ++stage) {
    if (shape.rank_of[stage] != rank) continue;
    const bool ahead = stage > 0 && shape.rank_of[stage - 1] != rank;
    const bool back = stage + 1 < shape.stages() && shape.rank_of[stage + 1] != rank;
    receives += (ahead ? m : 0) + (back ? m : 0);
  }
  // The hops of a pair's two passes go in one batch.
  return std::max(0.0, (traits.pairs ? receives / 2 : receives) - 1);
}

/// By how much the gradients of one stage close after its backward has ended; what came before is taken to be done.
double closing(const StageCost& stage, const std::vector<BlockRun>& runs, const StepCosts& costs, double free_share) {
  SideBySide beside;
  double begin = 0;
  for (std::size_t i = runs.size(); i-- > 0;) {
    const double n = static_cast<double>(runs[i].count), wall = stage.run_backward[i];
    beside.close(begin, n, wall / n, costs.block(runs[i].block).gradients.beside / free_share);
    begin += wall;
  }
  return beside.queue() - stage.backward();
}

/// By how much the parameters of one stage are late for its first forward.
double opening(const StageCost& stage, const std::vector<BlockRun>& runs, const StepCosts& costs, double free_share) {
  SideBySide beside;
  double begin = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double n = static_cast<double>(runs[i].count), wall = stage.run_forward[i];
    beside.need(begin, n, wall / n, costs.block(runs[i].block).parameters.beside / free_share);
    begin += wall;
  }
  return beside.late();
}

/// Share of a pass in which the rank's own moves hold a tier that its step moves need.
double fabric_share(const UnitsOnShape& units, const OnceOnShape& once, int rank_kind, bool gradients) {
  const StageShape::RankKind& rank = units.shape->rank_kinds[rank_kind];
  double busy = 0, wall = 0;
  for (std::size_t kind = 0; kind < rank.count.size(); ++kind) {
    if (rank.count[kind] == 0) continue;
    const StageCost& stage = units.stages[kind];
    wall += rank.count[kind] * (gradients ? stage.backward() : stage.forward);
    for (const BlockRun& run : units.shape->kinds[kind]) {
      const BlockOnce& block = once.costs->block(run.block);
      const unsigned tiers = gradients ? block.gradients.tiers : block.parameters.tiers;
      if (tiers == 0) continue;
      const auto& held = gradients ? units.units->fabric_backward(run.block) : units.units->fabric_forward(run.block);
      for (std::size_t tier = 0; tier < held.size(); ++tier)
        if (tiers >> tier & 1U) busy += held[tier] * static_cast<double>(run.count) * rank.count[kind];
    }
  }
  return wall > 0 ? std::min(0.9, busy / wall) : 0;
}

double gradients_shown(const UnitsOnShape& units, const OnceOnShape& once, const ScheduleTraits& traits, double busy) {
  const StageShape& shape = *units.shape;
  const int kind = shape.rank_kind_of.front();
  const RankOnce& rank = once.ranks[kind];
  if (rank.gradients_beside == 0) return rank.gradients_serial;
  const double free_share = 1 - fabric_share(units, once, kind, true);
  const auto bare = [&](int stage) {
    return closing(units.stages[stage], shape.kinds[stage], *once.costs, free_share);
  };
  double least = bare(shape.kind_of.front());
  // Where weight gradients come apart, any of the rank's stages may close last.
  for (std::size_t stage = 0; traits.split_backward && stage < shape.kinds.size(); ++stage)
    if (shape.rank_kinds[kind].count[stage] > 0) least = std::min(least, bare(static_cast<int>(stage)));
  return rank.gradients_serial + shown_beside(least, rank.gradients_beside, 0, busy, once.costs->contention());
}

double parameters_shown(const UnitsOnShape& units, const OnceOnShape& once, double busy) {
  const StageShape& shape = *units.shape;
  const int kind = shape.rank_kind_of.front(), stage = shape.kind_of.front();
  const RankOnce& rank = once.ranks[kind];
  if (rank.parameters_beside == 0) return rank.parameters_serial;
  const double free_share = 1 - fabric_share(units, once, kind, false);
  const double bare = opening(units.stages[stage], shape.kinds[stage], *once.costs, free_share);
  return rank.parameters_serial + shown_beside(bare, rank.parameters_beside, 0, busy, once.costs->contention());
}

}  // namespace

void lay_units(const UnitCosts& units, const StageShape& shape, UnitsOnShape& on) {
  on.units = &units;
  on.shape = &shape;
  on.compute = 0;
  on.stages.resize(shape.kinds.size());
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) units.lay_stage(shape.kinds[kind], on.stages[kind]);
  on.ranks.assign(shape.rank_kinds.size(), {});
  for (std::size_t kind = 0; kind < shape.rank_kinds.size(); ++kind) {
    const StageShape::RankKind& here = shape.rank_kinds[kind];
    UnitsOnShape::OnRank& rank = on.ranks[kind];
    for (std::size_t stage = 0; stage < here.count.size(); ++stage) {
      if (here.count[stage] == 0) continue;
      const StageCost& cost = on.stages[stage];
      rank.work += here.count[stage] * cost.all();
      rank.split_work += here.count[stage] * (cost.forward + cost.input_grad);
    }
  }
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind)
    on.compute += shape.stages_of[kind] * on.stages[kind].compute;
}

ScheduleTraits schedule_traits(const ScheduleKind& kind) {
  ScheduleTraits traits;
  traits.supported = kind.directions == 1 && kind.make != nullptr && !kind.takes_slices;
  traits.split_backward = kind.splits_backward;
  traits.one_by_one = kind.one_by_one;
  traits.pairs = kind.pairs;
  return traits;
}

PipelineBound bound_pipeline(const UnitsOnShape& units, const HeldUnits& held, const ScheduleTraits& traits, double hop,
    bool blocking, double m) {
  const StageShape& shape = *units.shape;
  const auto backward = traits.split_backward ? input_grad_of : backward_of;
  PipelineBound bound;
  // There and back from the first stage on; stages that stand next to each other on one rank hand over for nothing.
  bound.first_rank_end = sum_over(shape.stages_of, units.stages, forward_of) +
                         sum_over(shape.stages_of, units.stages, backward) + 2 * hop * shape.crossings;
  for (const StageShape::Way& way : shape.ways) {
    const UnitsOnShape::OnRank& rank = units.ranks[way.kind];
    const double there = sum_over(way.before, units.stages, forward_of) + way.crossings_before * hop;
    const double back = sum_over(way.before, units.stages, backward) + way.crossings_before * hop;
    const double standing = blocking ? hop * held_by_hops(shape, way, traits, m) : 0;
    const double works = m * (traits.split_backward ? rank.split_work : rank.work) + standing;
    bound.first_rank_end = std::max(bound.first_rank_end, there + works + back);
    bound.makespan = std::max(bound.makespan, there + m * rank.work + standing);
    if (traits.one_by_one) {
      const int round = shape.ranks - way.rank;
      const double trip = sum_over(way.behind.front(), units.stages, all_of) + 2 * hop * (round - 1);
      bound.first_rank_end = std::max(bound.first_rank_end, there + (std::floor((m - 1) / round) + 1) * trip + back);
      continue;
    }
    double stays = 0;
    for (std::size_t i = 0; i < way.behind.size(); ++i) {
      stays += sum_over(way.behind[i], units.stages, forward_of) + sum_over(way.behind[i], units.stages, backward) +
               2 * hop * way.crossings_behind[i];
      if (traits.split_backward) stays += units.stages[shape.kind_of[shape.rank_kinds[way.kind].stages[i]]].weight_grad;
    }
    int most = 1;
    for (const std::vector<int>& counts : held[way.kind])
      most = std::max(most, std::accumulate(counts.begin(), counts.end(), 0));
    const double all_stays = m * stays / most;
    bound.makespan = std::max(bound.makespan, there + all_stays);
    if (!traits.split_backward) bound.first_rank_end = std::max(bound.first_rank_end, there + all_stays + back);
  }
  bound.makespan = std::max(bound.makespan, bound.first_rank_end);
  return bound;
}

double bound_step(const UnitsOnShape& units, const OnceOnShape& once, const PipelineBound& pipeline,
    const ScheduleTraits& traits, double m) {
  const double busy = m * units.ranks[units.shape->rank_kind_of.front()].work;
  const double closed = pipeline.first_rank_end + gradients_shown(units, once, traits, busy);
  return once.costs->fixed() + once.updates + std::max(pipeline.makespan, closed) + parameters_shown(units, once, busy);
}

}  // namespace stepcast::sim
