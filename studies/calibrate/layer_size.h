// Micro-batches that layers are timed with, and every call of a layer for one of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "studies/calibrate/own_shapes.h"

namespace stepcast::calibration {

/// Tokens of the micro-batches that a layer is timed with.
std::span<const std::int64_t> layer_tokens();

/// A micro-batch of so many sequences.
struct LayerSize {
  std::int64_t sequence = 0, micro_batch = 1;
};
/// One for each number of tokens: sequences as long as they allow, or as `longest` or the network's learned positions
/// do.
std::vector<LayerSize> layer_sizes(const NetworkSpec& network, std::int64_t longest);

/// Every call of the layer on one GPU.
Expected<LayerShapes> shapes_of_layer(const NetworkSpec& network, const LayerSize& size, const Gpu& gpu);

}  // namespace stepcast::calibration
