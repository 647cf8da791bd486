// A timed scan of a serving engine: what, whose kernel, how long.
#pragma once

#include <string>
#include <vector>

#include "calibrate/rows/convolution_timing.h"
#include "calibrate/rows/hyper_connection_timing.h"
#include "model/base/units.h"
#include "model/network/operator.h"

namespace stepcast::calibrate {

struct ScanTiming {
  std::string gpu;              ///< catalogue id
  std::string engine, release;  ///< "vllm", "0.24.0"
  std::string kernel;           ///< as the engine calls it: "chunk_gated_delta_rule"
  ScanShape shape;
  Seconds time;
};

/// Rows of tables: scans over prompts, hyper-connections, convolutions of prompts and of words; what is none of these
/// is counted.
struct ScanTimings {
  std::vector<ScanTiming> rows;
  std::vector<HyperConnectionTiming> hyper_connections;
  std::vector<ConvolutionTiming> convolutions;
  int other_phases = 0;
};

}  // namespace stepcast::calibrate
