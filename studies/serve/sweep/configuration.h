// One way to serve: which engine on which GPUs, how it is split, and its limits; and the line that runs it.
#pragma once

#include <cstdint>
#include <string>

#include "studies/serve/sweep/asked.h"

namespace stepcast::serve::sweeping {

struct Configuration {
  std::string machine, engine, weights, cache;  ///< as asked; "" is the default
  std::string gpu;                              ///< its name
  std::int64_t gpus = 1, tp = 1, pp = 1, ep = 1, attention_dp = 1, replicas = 1;
  std::int64_t most_sequences = 0, most_positions = 0;  ///< 0: the engine's
};

/// stepcast serve with this configuration and load.
std::string serve_line(const Asked& asked, const Configuration& configuration, double load);

}  // namespace stepcast::serve::sweeping
