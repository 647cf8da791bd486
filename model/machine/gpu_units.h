// What one wave of a kernel has to itself on a GPU, and the tiles that libraries cut products into.
#pragma once

#include <span>

#include "model/base/units.h"

namespace stepcast {

/// 0 = not known.
struct GpuUnits {
  int multiprocessors = 0;
  Bytes l2;
};

/// Elements of C, and of k per step, that one thread block works on.
struct CtaTile {
  int m = 128, n = 128, k = 64;
};
/// The shapes that libraries ship for 16-bit tensor-core products, largest first (CUTLASS profiler's default list; the
/// tile sizes seen in cuBLAS kernel names: 256x128, 128x256, 128x128, 128x64, 64x64).
std::span<const CtaTile> cta_tiles();

}  // namespace stepcast
