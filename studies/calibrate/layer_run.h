// Times layers of networks on a GPU. Only the command layers uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"
#include "model/machine/machine.h"
#include "studies/calibrate/layer_file.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {

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
