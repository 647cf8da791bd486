// One event of Chrome's trace format as its text has it, with those of its fields that tell about a GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

struct RawTraceEvent {
  std::string phase, category, name, shown;  ///< shown: the name that a metadata event gives
  double start = NAN, duration = NAN;        ///< microseconds
  std::int64_t process = -1, thread = -1, device = -1, stream = -1, correlation = -1;
  std::int64_t external = -1;               ///< of an operator, and of the kernels that it launched
  std::vector<std::vector<double>> inputs;  ///< sizes of each input of an operator
  std::string collective, type;             ///< "allreduce", "Float"
  double in_elements = 0, out_elements = 0;
  std::int64_t group = 0;

  void clear() {
    for (std::string* text : {&phase, &category, &name, &shown, &collective, &type}) text->clear();
    start = duration = NAN;
    process = thread = device = stream = correlation = external = -1;
    inputs.clear();
    in_elements = out_elements = 0, group = 0;
  }
};

/// What stands beside the events.
struct RawTraceHead {
  std::string generator;  ///< "stepcast 0.1.0"
  std::vector<std::pair<std::int64_t, std::string>> gpus;
  std::int64_t rank = -1, world = 0;
};

}  // namespace stepcast::calibrate
