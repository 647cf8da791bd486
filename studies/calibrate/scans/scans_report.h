// Prints the laws of engines' scans and how well they forecast shapes that they had not seen.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/fit_scan.h"

namespace stepcast::calibration {

std::string scans_text(const std::vector<calibrate::FittedScan>& fits, const calibrate::ScanTimings& timings);
std::string scans_json(const std::vector<calibrate::FittedScan>& fits, const calibrate::ScanTimings& timings);

}  // namespace stepcast::calibration
