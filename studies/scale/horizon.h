// Forecasts a plan at other GPU counts, and finds what breaks when they become many.
#pragma once

#include "studies/run/request.h"
#include "studies/scale/curve.h"

namespace stepcast::scale {

/// The smallest run: everything said, so that only GPUs and batch change.
struct ScaleBase {
  Request request;
  Scenario scenario;
  ScaledRun run;
  std::int64_t ways = 1;  ///< ranks that hold one copy of the model: tp x cp x pp
  std::int64_t stages = 1;
};

/// The batch at that many GPUs: the same, or as much per GPU as `batch` is on `first`. Errors: that is no whole number.
Expected<std::int64_t> batch_at(std::int64_t batch, std::int64_t first, Scaling scaling, std::int64_t gpus);

/// The plan on `gpus`. Errors: the batch does not grow to a whole number, or what resolve and predict refuse.
Expected<ScaledRun> run_at(const ScaleBase& base, Scaling scaling, std::int64_t gpus);

/// Where `times` x is not legal, at the nearest count that is, within half and twice as many.
Horizon look_ahead(const ScaleBase& base, Scaling scaling, double times);

}  // namespace stepcast::scale
