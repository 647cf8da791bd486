// Number types of an engine's weights, products and cache: what their names mean, and what is not said settled.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/engine.h"
#include "model/machine/machine.h"
#include "model/network/hf/stored_weights.h"
#include "model/network/network.h"
#include "sim/serving/engine_cost.h"

namespace stepcast::infer {

/// As typed, or as a record says it; "": nothing is said.
struct TypeWishes {
  std::string weights, cache, products;
};

struct ServedTypes {
  sim::IterationTypes types;
  double cache_element_bytes = 2;             ///< with scales
  std::vector<std::string> assumptions;       ///< what nobody said
  std::vector<WeightsOfLayers> wide_weights;  ///< of the file, where the weights are its own
  std::vector<WeightsOfExperts> wide_experts;
  bool narrow_head = false;
  bool stored_in_blocks = false;  ///< weights have a scale per block, also where kernels widen them
};

/// `stored`: what the network's file says of its weights. Errors: names of no type, types that the GPU does not
/// multiply in and no kernels widen, types of caches for weights and the other way round.
Expected<ServedTypes> served_types(const TypeWishes& wishes, const StoredWeights& stored, const NetworkSpec& network,
    const Gpu& gpu, const Engine& engine);

}  // namespace stepcast::infer
