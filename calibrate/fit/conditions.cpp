#include "calibrate/fit/conditions.h"

#include <map>
#include <string>

#include <fmt/format.h>

namespace stepcast::calibrate {

Conditions conditions_of(const Measurements& measurements, const Gpu& gpu) {
  Conditions out;
  bool first = true;
  std::map<std::string, int> sources;
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& c = measurements.context_of(row);
    if (c.gpu != gpu.id) continue;
    ++sources[c.software.empty() ? c.source : fmt::format("{}: {}", c.software, c.source)];
    const auto agree = [&](std::string& ours, const std::string& theirs) {
      ours = first || ours == theirs ? theirs : "";
    };
    agree(out.device, c.device);
    agree(out.driver, c.driver);
    agree(out.cuda, c.cuda);
    agree(out.cublas, c.cublas);
    agree(out.nccl, c.nccl);
    agree(out.date, c.date);
    agree(out.launch_mode, c.launch_mode);
    const auto same = [&](double& ours, double theirs) { ours = first || ours == theirs ? theirs : 0; };
    same(out.sm_clock_mhz, c.sm_clock_mhz);
    same(out.memory_clock_mhz, c.memory_clock_mhz);
    same(out.power_limit_w, c.power_limit_w);
    first = false;
  }
  for (const auto& [source, rows] : sources) out.sources.push_back(fmt::format("{} ({} rows)", source, rows));
  return out;
}

}  // namespace stepcast::calibrate
