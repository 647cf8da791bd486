#include "calibrate/rows/measurement.h"

#include <algorithm>

namespace stepcast::calibrate {

int context_index(Measurements& measurements, const MeasurementContext& context) {
  auto& all = measurements.contexts;
  const auto at = std::find(all.begin(), all.end(), context) - all.begin();
  if (at == static_cast<std::ptrdiff_t>(all.size())) all.push_back(context);
  return static_cast<int>(at);
}

void add_row(Measurements& into, Measurement row, const MeasurementContext& context) {
  row.context = context_index(into, context);
  into.rows.push_back(std::move(row));
}

void append(Measurements& into, const Measurements& more) {
  std::vector<int> renumbered;
  for (const MeasurementContext& context : more.contexts) renumbered.push_back(context_index(into, context));
  for (Measurement row : more.rows) {
    row.context = renumbered.at(static_cast<std::size_t>(row.context));
    into.rows.push_back(std::move(row));
  }
  into.notes.insert(into.notes.end(), more.notes.begin(), more.notes.end());
}

}  // namespace stepcast::calibrate
