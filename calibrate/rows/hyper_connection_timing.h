// A timed hyper-connection of a serving engine: what, whose kernel, how long.
#pragma once

#include <string>

#include "model/base/units.h"
#include "model/profile/hyper_connection_law.h"

namespace stepcast::calibrate {

struct HyperConnectionTiming {
  std::string gpu;              ///< catalogue id
  std::string engine, release;  ///< "vllm", "0.24.0"
  HyperConnectionShape shape;
  Seconds time;  ///< around one sublayer
};

}  // namespace stepcast::calibrate
