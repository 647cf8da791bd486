// Shows the main figures of a profile: its roofs against the datasheet, bus bandwidths and the rate of products.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

/// A rate per second of the datasheet and of the fitted law.
struct LawRoof {
  std::string name;                  ///< "bf16", "device memory"
  std::string key;                   ///< unit: "flops_per_s" or "bytes_per_s"
  double datasheet = 0, fitted = 0;  ///< datasheet 0: not known
  Source source = Source::assumed;
};
std::vector<LawRoof> roofs_of(const Profile& profile, const Gpu* gpu);

struct BusRow {
  const CollectiveCurve* curve = nullptr;
  std::vector<BytesPerSecond> bus;  ///< at bus_sizes
};
inline constexpr double bus_sizes[] = {1048576, 67108864, 1073741824};  ///< of the whole buffer
std::vector<BusRow> bus_rows(const Profile& profile);

/// bf16 (else fp16) products over m at n = k = 4096, and the roofs above them.
struct RateCurve {
  std::string precision;
  std::vector<std::pair<double, double>> rate, fitted_roof, datasheet_roof;  ///< m, flops per second
};
RateCurve rate_curve(const Profile& profile, const Gpu* gpu);
std::string rate_plot(const RateCurve& curve, const Console& console);

}  // namespace stepcast::calibration
