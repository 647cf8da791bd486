// A GPU of round figures: 1 PFLOP/s in bf16 over 1 TB/s, so that its only ridge is at 1000 FLOP/B.
#pragma once

#include "model/machine/machine.h"

namespace stepcast::roofline::testing_roofline {

inline Gpu round_gpu() {
  Gpu gpu;
  gpu.id = "round";
  gpu.multiprocessors = 100;
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(1e15);
  gpu.memory_bandwidth = BytesPerSecond(1e12);
  gpu.l2 = Bytes(50e6);
  return gpu;
}

}  // namespace stepcast::roofline::testing_roofline
