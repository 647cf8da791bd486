// The forecast of a timed layer: the sum of its kernels by a profile's laws, and of what the host takes to launch them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "studies/calibrate/layer_file.h"

namespace stepcast::calibration {

struct LayerForecast {
  Seconds time, launching;  ///< of the kernels; of the host
  std::string missing;      ///< a kernel that the profile has no law for; the times are then not of all
  [[nodiscard]] Seconds of(bool in_graph) const { return in_graph ? time : std::max(time, launching); }
};

struct HeldLayer {
  TimedLayer layer;
  LayerForecast forecast;
  /// Forecast over measured - 1.
  [[nodiscard]] double error() const { return forecast.of(layer.in_graph) / layer.time - 1; }
};

/// Fails, with the place in the file `where`, on a network that is not there, on sequences that it does not have, and
/// on layers that were timed with other calls than are forecast.
Expected<std::vector<HeldLayer>> hold_layers(
    const LayerFile& file, const Gpu& gpu, const Profile& profile, const std::string& where);

}  // namespace stepcast::calibration
