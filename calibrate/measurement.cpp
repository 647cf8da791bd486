#include "calibrate/measurement.h"

#include <algorithm>

namespace stepcast {

int context_index(Measurements& measurements, const MeasurementContext& context) {
  auto& all = measurements.contexts;
  const auto at = std::find(all.begin(), all.end(), context) - all.begin();
  if (at == static_cast<std::ptrdiff_t>(all.size())) all.push_back(context);
  return static_cast<int>(at);
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

Flops flops_of(const GemmMeasurement& g) { return Flops(2 * g.m * g.n * g.k); }

Bytes bytes_of(const GemmMeasurement& g) {
  return Bytes((g.m * g.k + g.n * g.k) * g.operand_bytes + g.m * g.n * g.result_bytes);
}

Bytes cast_bytes_of(const GemmMeasurement& g) {
  constexpr double read = 2;  // bf16 activations
  return g.casts_x ? Bytes(g.m * g.k * (read + g.operand_bytes)) : Bytes(0);
}

Flops causal_flops_of(const AttentionMeasurement& a) {
  const double pairs = a.positions * (a.positions + 1) / 2;
  return Flops(4 * a.sequences * a.heads * a.head_dim * pairs);  // scores and context, two FLOPs per multiply-add
}

}  // namespace stepcast
