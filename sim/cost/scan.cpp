// The price of a scan: its law, at the clocks and with the library versions that products of a step show.
#include "model/profile/scan_law.h"
#include "sim/cost.h"

namespace stepcast::sim {

Price CostModel::scan(const KernelWork& work) const {
  const KernelTime kernel = scan_time(*profile_, work.scan, work.backward);
  const double slower = tuning_[StepParameter::products] * profile_->sustained_slowdown;
  return {kernel.time * slower, kernel.source, kernel.spread, "scan of states", false, 0};
}

}  // namespace stepcast::sim
