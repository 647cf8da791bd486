// A row's load run request by request.
#pragma once

#include <cstdint>

#include "model/base/error.h"
#include "studies/serve/sweep/engines.h"
#include "studies/serve/sweep/row.h"

namespace stepcast::serve::sweeping {

/// Requests of each user: ten, as benchmarks of serving send them (InferenceX utils/bench_serving), and fewer where
/// there are so many users that a round tells as much.
std::int64_t rounds_of(const Asked& asked, std::int64_t users);

/// A load for the mean field.
sim::SteadyLoad steady_load(const Asked& asked, double load);

/// Gives the row its simulated figures, and the share within targets where there are some. Its engines must be those
/// that were made. Errors: sequences that give way to the host's memory, as infer::check_swapped has it.
Expected<void> simulate(Row& row, const Asked& asked, Engines& engines, const Configuration& configuration);

/// All replicas that have requests are looked at as each of them ends an iteration: of rates these are all, and of
/// users no more than there are users.
bool can_simulate(const Asked& asked, const Configuration& configuration, double load);

}  // namespace stepcast::serve::sweeping
