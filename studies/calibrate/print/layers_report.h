// Prints timed layers and the forecasts beside them, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "model/profile/profile.h"
#include "studies/calibrate/layer_forecast.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

struct LayersReport {
  const LayerFile& file;
  const std::vector<HeldLayer>& rows;
  const Profile* profile = nullptr;  ///< null: nothing was forecast
};
std::string layers_report(const LayersReport& report, const Console& console);
/// {"device", "profile", "layers": [...], "notes": [...]}, times in seconds.
std::string layers_json(const LayersReport& report);

}  // namespace stepcast::calibration
