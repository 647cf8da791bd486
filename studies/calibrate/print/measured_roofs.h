// Shows the measured part of a profile as rows: roofs of both regimes beside the datasheet, and what starting work
// costs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/json_writer.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "studies/print/table.h"

namespace stepcast::calibration {

/// One resource; rates of 0 are not known.
struct MeasuredRoof {
  std::string of;
  std::string key;  ///< unit: "flops_per_s" or "bytes_per_s"
  double burst = 0, sustained = 0, datasheet = 0;
  std::string at;  ///< the work that reached the burst; "" = not told
};
std::vector<MeasuredRoof> measured_roofs(const std::vector<Roof>& roofs, const Gpu* gpu);
Table measured_roofs_table(const std::vector<MeasuredRoof>& roofs);
/// A list "measured_roofs" in the open object, rates in base units.
void write_measured_roofs(JsonWriter& json, const std::vector<MeasuredRoof>& roofs);

/// Those that were measured: "stream_kernel_s", "a kernel into a stream", time.
struct HostCostRow {
  std::string_view key, what;
  Seconds time;
};
std::vector<HostCostRow> host_cost_rows(const HostCosts& host);
std::string host_costs_text(const HostCosts& host);
void write_host_costs(JsonWriter& json, const HostCosts& host);

}  // namespace stepcast::calibration
