// Timed layers of networks as a file: what `calibrate layers` writes, and reads again to hold a forecast beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::calibration {

/// One layer forward and backward.
struct TimedLayer {
  std::string network;  ///< catalogue id
  std::int64_t sequence = 0, micro_batch = 1;
  std::string attention;  ///< whose kernel: "stepcast" or "cudnn"
  bool in_graph = true;   ///< else launched one by one
  std::int64_t calls = 0;
  Seconds time, low, high;  ///< median and quartiles of replays
  std::int64_t replays = 0;
  Seconds sustained;  ///< after a second and more without rest; 0 = not timed
  double sm_clock_mhz = 0, power_w = 0, sustained_clock_mhz = 0;
  bool power_limited = false, settled = true;
};

struct LayerFile {
  MeasurementContext context;  ///< of all rows; launch_mode is that of the row
  std::vector<TimedLayer> layers;
  std::vector<std::string> notes;  ///< what was not timed, and why
};

std::string write_layers(const LayerFile& file);
/// Strictly: unknown keys and values out of range are Errors with their JSON pointer.
Expected<LayerFile> read_layers(std::string_view text, const std::string& where);
bool is_layer_file(const std::string& name);

}  // namespace stepcast::calibration
