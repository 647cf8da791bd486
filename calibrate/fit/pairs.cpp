#include "calibrate/fit/pairs.h"

#include <map>
#include <utility>

#include "kernels/bench/work.h"

namespace stepcast::calibrate {
namespace {

/// What two rows must share, beside their GPU.
using ThingTimed = std::pair<std::string, std::string>;

bool is_beside(const Measurement& row, const MeasurementContext& c) {
  return !c.beside.empty() && c.regime == "burst" && !row.throttled;
}
bool is_sustained(const MeasurementContext& c) { return c.regime == "sustained" && c.beside.empty(); }
bool is_plain(const Measurement& row, const MeasurementContext& c) {
  return c.regime == "burst" && c.beside.empty() && !row.throttled;
}

}  // namespace

RowPairs pairs_of(const Measurements& measurements, const Gpu& gpu) {
  std::map<ThingTimed, Seconds> alone;
  std::vector<const Measurement*> changed;
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& c = measurements.context_of(row);
    if (c.gpu != gpu.id || !c.cache.empty() || !(is_beside(row, c) || is_sustained(c))) continue;
    changed.push_back(&row);
    alone[{work_name(row.what), c.software}] = Seconds(0);
  }
  if (changed.empty()) return {};
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& c = measurements.context_of(row);
    if (c.gpu != gpu.id || !c.cache.empty() || !is_plain(row, c)) continue;
    if (const auto found = alone.find({work_name(row.what), c.software}); found != alone.end())
      found->second = row.time;
  }
  RowPairs out;
  for (const Measurement* row : changed) {
    const MeasurementContext& c = measurements.context_of(*row);
    const Seconds plain = alone.at({work_name(row->what), c.software});
    if (plain.value() > 0) {
      (c.beside.empty() ? out.sustained : out.beside).push_back({row->what, c.beside, row->time / plain});
    } else if (!c.beside.empty()) {
      ++out.alone_missing;
    }
  }
  return out;
}

}  // namespace stepcast::calibrate
