// A row's load run request by request.
#pragma once

#include <cstdint>

#include "studies/serve/sweep/engines.h"
#include "studies/serve/sweep/row.h"

namespace stepcast::serve::sweeping {

/// Requests of each user: ten, as benchmarks of serving send them (InferenceX utils/bench_serving), and fewer where
/// there are so many users that a round tells as much.
std::int64_t rounds_of(const Asked& asked, std::int64_t users);

/// Gives the row its simulated figures, and the share within targets where there are some. Its engine must be one that
/// was made.
void simulate(Row& row, const Asked& asked, Engines& engines, const Configuration& configuration);

}  // namespace stepcast::serve::sweeping
