// Says in one line for a terminal how far a sweep is, and estimates how long one would take.
#pragma once

#include <cstdint>
#include <string>

#include "model/base/error.h"
#include "studies/sweep/search/run.h"

namespace stepcast::sweep {

/// Configurations of the result's own shard that are done.
std::uint64_t configurations_done(const SweepResult& result);
std::uint64_t configurations_in_all(const SweepResult& result);

/// "42.1 %, 1.3 M configurations/s, 12 s left, best 20.3 s". `before`: done when this run began.
std::string progress_line(const SweepResult& so_far, const SweepWork& work, std::uint64_t before);

/// "950", "12 k", "1.2 M".
std::string short_count(double count);
/// "0.44 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

struct SweepEstimate {
  /// rough, at least: forecasts of the most promising are not in it, and parts are shared widely
  double seconds = 0;
  double most_seconds = 0;    ///< parts are shared as little as in the sample
  double runnable_share = 0;  ///< of the sampled configurations that can run
};
/// Prices a sample of the space, for a second at most. Errors: those of the space's nouns and numbers.
Expected<SweepEstimate> estimate_sweep(const Space& space, std::uint64_t configurations, int threads);

}  // namespace stepcast::sweep
