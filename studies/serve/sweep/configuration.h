// One way to serve: which engine on which GPUs, how it is split, and its limits; and the line that runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "studies/serve/sweep/asked.h"

namespace stepcast::serve::sweeping {

/// Of a pool of its own for prompts; engine and number types are those of the pool that says words.
struct PromptSplit {
  std::string machine = {};  ///< as asked; "" is the default one
  std::int64_t tp = 1, ep = 1, attention_dp = 1, replicas = 1;
  std::int64_t most_sequences = 0, most_positions = 0;  ///< 0: the engine's
  [[nodiscard]] std::int64_t replica() const { return tp * attention_dp; }
  [[nodiscard]] std::int64_t gpus() const { return replica() * replicas; }
};

struct Configuration {
  std::string machine, engine, weights, cache;  ///< as asked; "" is the default
  std::string gpu;                              ///< its name
  std::int64_t gpus = 1;                        ///< of all pools
  std::int64_t tp = 1, pp = 1, ep = 1, attention_dp = 1, replicas = 1;
  std::int64_t most_sequences = 0, most_positions = 0;  ///< 0: the engine's
  std::optional<PromptSplit> prompts = {};              ///< nullopt: one pool reads and says
  [[nodiscard]] std::int64_t replica() const { return tp * pp * attention_dp; }
};

/// stepcast serve with this configuration and load.
std::string serve_line(const Asked& asked, const Configuration& configuration, double load);

}  // namespace stepcast::serve::sweeping
