// The kernels of an iteration under the roofs of their GPU.
#pragma once

#include <string>
#include <vector>

#include "studies/infer/phases.h"

namespace stepcast::infer {

struct RoofedKernel {
  std::string label, shape;
  Seconds time;          ///< of all calls
  double intensity = 0;  ///< FLOPs per byte of device memory
  FlopsPerSecond compute;
  BytesPerSecond memory;
  bool below_memory = true;  ///< the memory's roof is the lower one at this intensity
  double share = 0;          ///< of that roof: the time at the datasheet's rates over the forecast one
};

/// The longest first. The roof of compute is that of what products multiply; that of the cache's type for attention.
std::vector<RoofedKernel> roofed_kernels(const Serving& serving, const sim::IterationTime& iteration);

std::string roofs_text(const Serving& serving, const sim::IterationTime& iteration);
std::string roofs_json(const Serving& serving, const sim::IterationTime& iteration);

}  // namespace stepcast::infer
