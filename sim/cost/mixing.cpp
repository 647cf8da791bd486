// The price of mixing residual streams: its law, at the clocks and with the library versions that passes over memory
// of a step show.
#include "sim/cost.h"

namespace stepcast::sim {

HyperConnectionShape mixing_shape(const KernelWork& work) {
  return {work.n > 0 ? HyperConnectionPart::pre : HyperConnectionPart::post, work.m, work.streams, work.k,
      work.element_bytes};
}

Price CostModel::mixing(const KernelWork& work) const {
  const KernelTime kernel = hyper_connection_time(*profile_, mixing_shape(work));
  return {kernel.time * tuning_[StepParameter::memory], kernel.source, kernel.spread, "mixing of streams", false, 0};
}

}  // namespace stepcast::sim
