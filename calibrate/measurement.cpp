#include "calibrate/measurement.h"

namespace stepcast {

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
