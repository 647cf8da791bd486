// Runs a sweep. Threads take stretches of the space, price every legal point fast, forecast the promising ones with the
// event engine, and keep the results. The state can be asked for at any time, so that a snapshot is always whole.
#pragma once

#include <memory>

#include "model/base/error.h"
#include "studies/sweep/price/points.h"
#include "studies/sweep/space/space.h"
#include "studies/sweep/where/where.h"
#include "studies/sweep/search/options.h"

namespace stepcast::sweep {

struct SweptSpace {
  SweepResult result;
  SweepWork work;
  /// Of one of the threads, with the parts of prices that it has made, for who asks on; they hold on to the space.
  std::shared_ptr<SpacePoints> points;
};

/// The space's constraint. Errors: what Where::read() says of it; a cost without a price.
Expected<Where> where_of(const Space& space);
SweepQuestion question_of(SpacePoints& points, bool exhaustive);
/// Errors: the space's nouns and numbers, the constraint, the snapshot's; a forecast that fails where the rules say it
/// should not.
Expected<SweptSpace> run_sweep(
    const Space& space, const Shard& shard, const SweepOptions& options, const SweepResult* earlier = nullptr);

}  // namespace stepcast::sweep
