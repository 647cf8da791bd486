// Times layers of networks on a GPU. Only the command layers uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"
#include "model/machine/machine.h"
#include "studies/calibrate/layer_file.h"
#include "studies/calibrate/own_shapes.h"
#include "studies/run/nouns.h"

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

struct LayerRunRequest {
  std::vector<Chosen<NetworkSpec>> networks;
  std::vector<std::string> names;  ///< of the networks, as they were asked for
  Gpu gpu;
  std::int64_t longest = 0;  ///< positions of a sequence; 0 = as many as there are tokens
  std::string date;
  std::function<bool()> stop;                                 ///< true: finish now
  std::function<void(const std::string& name)> progress;      ///< before each layer
  std::function<Expected<void>(const LayerFile& file)> keep;  ///< after each layer
};
/// What cannot run, and what an interruption left out, is a note of the file. Fails where the GPU is lost or the file
/// cannot be kept.
Expected<LayerFile> time_layers(GpuBench& bench, const LayerRunRequest& request);

}  // namespace stepcast::calibration
