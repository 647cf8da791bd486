// Prints the laws of engines' scans, convolutions and hyper-connections, and how well they forecast shapes that they
// had not seen.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/fit_convolution.h"
#include "calibrate/fit/fit_hyper_connection.h"
#include "calibrate/fit/fit_scan.h"

namespace stepcast::calibration {

struct ScanFits {
  std::vector<calibrate::FittedScan> scans;
  std::vector<calibrate::FittedHyperConnection> hyper_connections;
  calibrate::ConvolutionFits convolutions;
  std::vector<calibrate::LeftOutTable> left_out;
  [[nodiscard]] std::size_t rows() const;  ///< that laws are fitted on
};
std::string scans_text(const ScanFits& fits, const calibrate::ScanTimings& timings);
std::string scans_json(const ScanFits& fits, const calibrate::ScanTimings& timings);

}  // namespace stepcast::calibration
