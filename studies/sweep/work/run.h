// Runs a sweep. Threads take stretches of the space, price every legal point fast, forecast the promising ones with the
// event engine, and keep the results. The state can be asked for at any time, so that a snapshot is always whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/base/error.h"
#include "studies/sweep/result/result.h"
#include "studies/sweep/space/space.h"
#include "studies/sweep/where/where.h"

namespace stepcast {

/// What differs from run to run of the same work.
struct SweepWork {
  std::uint64_t priced = 0;       ///< points that fit, by the fast price or the whole forecast
  std::uint64_t pruned = 0;       ///< of them, dismissed by their bound
  std::uint64_t refined = 0;      ///< of them, run by the event engine
  std::uint64_t excluded_late = 0;  ///< refined, then dismissed by the constraint
  std::uint64_t lowered = 0;      ///< programs made for the fast prices
  double largest_gap = 0;         ///< largest (forecast - fast) / forecast among the refined
  std::uint64_t above = 0;        ///< refined whose bound lay above the forecast: a defect, the list may lack a point
  double seconds = 0;
  void add(const SweepWork& other);
};

struct SweepOptions {
  int threads = 1;
  bool exhaustive = false;        ///< every point that fits is forecast by the event engine
  std::function<bool()> stop;     ///< asked between points; true ends the sweep early, whole
  double snapshot_s = 2;
  /// Told between snapshots and at the end: what is done and how it goes. An error ends the sweep.
  std::function<Expected<void>(const SweepResult& so_far, const SweepWork& work)> snapshot;
};

struct SweptSpace {
  SweepResult result;
  SweepWork work;
};

/// The space's constraint. Errors: what Where::read() says of it; a cost without a price.
Expected<Where> where_of(const Space& space);
/// Errors: those of the space's nouns and numbers.
Expected<SweepQuestion> question_of(const Space& space, bool exhaustive);
/// Errors: the space's nouns and numbers, the constraint, the snapshot's; a forecast that fails where the rules say it should not.
Expected<SweptSpace> run_sweep(const Space& space, const Shard& shard, const SweepOptions& options, const SweepResult* earlier = nullptr);

}  // namespace stepcast
