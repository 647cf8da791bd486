// Simulated annealing over whole mappings: a good start for branch and bound, and the search where the space is too
// large.
#pragma once

#include "dataflow/chip/search/search_walk.h"

namespace stepcast::dataflow::mapper {

/// `chains` independent walks of `steps` each, seeded one by one; the best of all goes to `found` if it is better. The
/// result depends on the seed only.
Tally anneal(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, int chains,
    std::int64_t steps, Found& found);

}  // namespace stepcast::dataflow::mapper
