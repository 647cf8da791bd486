#include "studies/calibrate/layer_size.h"

#include <algorithm>
#include <array>

#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

constexpr std::array<std::int64_t, 3> tokens_of_layers{2048, 4096, 8192};
constexpr const char* layer_stack = "megatron-core";

}  // namespace

std::span<const std::int64_t> layer_tokens() { return tokens_of_layers; }

std::vector<LayerSize> layer_sizes(const NetworkSpec& network, std::int64_t longest) {
  std::vector<LayerSize> sizes;
  for (const std::int64_t tokens : tokens_of_layers) {
    std::int64_t sequence = longest > 0 ? std::min(longest, tokens) : tokens;
    if (network.max_positions > 0) sequence = std::min(sequence, network.max_positions);
    sizes.push_back({sequence, tokens / sequence});
  }
  return sizes;
}

Expected<LayerShapes> shapes_of_layer(const NetworkSpec& network, const LayerSize& size, const Gpu& gpu) {
  OwnShapesRequest request;
  request.gpu = gpu;
  request.stack = choose_stack(layer_stack, "stack")->row;
  request.sequence = size.sequence;
  request.micro_batch = size.micro_batch;
  return layer_shapes(network, request);
}

}  // namespace stepcast::calibration
