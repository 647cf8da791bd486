#include "studies/sweep/search/options.h"

#include <algorithm>

namespace stepcast::sweep {

void SweepWork::add(const SweepWork& other) {
  priced += other.priced;
  pruned += other.pruned;
  refined += other.refined;
  excluded_late += other.excluded_late;
  lowered += other.lowered;
  above += other.above;
  largest_gap = std::max(largest_gap, other.largest_gap);
  seconds += other.seconds;
}

}  // namespace stepcast::sweep
