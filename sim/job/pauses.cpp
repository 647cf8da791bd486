#include "sim/job/pauses.h"

#include <cmath>

namespace stepcast::sim {

Seconds pause_per_step(Seconds pause, std::int64_t every, std::int64_t processes, bool together) {
  const double share = 1 / static_cast<double>(every);
  return pause * (together || every == 1 ? share : -std::expm1(static_cast<double>(processes) * std::log1p(-share)));
}

}  // namespace stepcast::sim
