// A timed convolution in front of a scan of a serving engine: what, whose kernel, how long.
#pragma once

#include <string>

#include "model/base/units.h"
#include "model/convolution_law.h"

namespace stepcast::calibrate {

struct ConvolutionTiming {
  std::string gpu;              ///< catalogue id
  std::string engine, release;  ///< "vllm", "0.24.0"
  std::string kernel;           ///< the table's scan and the engine's name: "gated_delta causal_conv1d_fn"
  std::string function;         ///< of its law (convolution_law.h)
  ChannelConvolution shape;
  Seconds time;
};

}  // namespace stepcast::calibrate
