// What was timed: one record per timed thing, whatever program timed it. Importers fill these, fits read them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/machine.h"
#include "model/profile.h"
#include "model/units.h"

namespace stepcast {

/// y[m,n] = x[m,k] W[n,k]^T.
struct GemmMeasurement {
  double m = 0, n = 0, k = 0;
  Seconds time;
  double operand_bytes = 2, result_bytes = 2;  ///< per element
  /// The time includes the cast of x from two bytes per element to the operand type (usual in fp8 tables).
  bool casts_x = false;
};
Flops flops_of(const GemmMeasurement& gemm);
/// Each matrix once over device memory.
Bytes bytes_of(const GemmMeasurement& gemm);
/// What the cast reads and writes; zero when the time has none.
Bytes cast_bytes_of(const GemmMeasurement& gemm);

enum class AttentionPass : std::uint8_t { forward, forward_and_backward };

/// Causal fused attention over whole sequences.
struct AttentionMeasurement {
  double sequences = 1, positions = 0, heads = 0, head_dim = 0;
  AttentionPass pass = AttentionPass::forward;
  Seconds time;
};
/// Of the forward kernel, half the square with its diagonal.
Flops causal_flops_of(const AttentionMeasurement& attention);

/// A kernel bound by device memory.
struct MemoryMeasurement {
  Bytes bytes;
  Seconds time;
};

/// `received` per rank, as in CollectiveCurve. `nodes` > 1: across nodes.
struct CollectiveMeasurement {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 2, nodes = 1;
  Bytes received;
  Seconds time;
};

}  // namespace stepcast
