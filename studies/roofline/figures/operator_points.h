// The operators of a step as points under the roofs: one per operator and pass of each kind of block, on a rank of the
// slowest stage, or of the slowest stage that has it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "studies/run/forecast.h"
#include "studies/roofline/figures/roofs.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

/// Colour of a point. Rows of a table by what an operator's name begins with; what no row knows goes by its kernel
/// class.
enum class PointKind : std::uint8_t { attention, projection, mlp, experts, norm, embedding, loss, optimizer, other };
const char* to_text(PointKind kind);          ///< JSON value and CSS class: "mlp"
const char* point_kind_name(PointKind kind);  ///< for people: "MLP"
PointKind point_kind(const KernelWork& work);
std::span<const PointKind> point_kinds();
/// "mlp.up" of "mlp.up dX".
std::string_view name_without_pass(std::string_view label);

/// Shape of a point.
enum class PointPass : std::uint8_t { forward, backward, recompute, step };
const char* to_text(PointPass pass);
PointPass point_pass(Pass pass);

/// What was timed of the same shape: the median over all rows that match.
struct MeasuredPoint {
  Seconds time;
  int rows = 0;
  std::string source;   ///< software and file of the first
  FlopsPerSecond rate;  ///< 0 without FLOPs
  double share_of_roof = 0;
};

struct OperatorPoint {
  std::string block, name;  ///< "layer", "mlp.up dX"; "step", "optimizer"
  PointKind kind = PointKind::other;
  Pass pass = Pass::forward;
  KernelClass kernel = KernelClass::pointwise;
  std::string shape;                      ///< "8192 x 7168 x 8192"
  Precision precision = Precision::bf16;  ///< whose peak limits it
  KernelWork work;                        ///< as the program has it; of the first slice where the sequence is cut
  double operand_bytes = 2;  ///< per element as multiplied, which a narrow plan makes fewer than the work's
  int stage = 0;
  double calls = 0;  ///< per step, on one rank of `stage`
  Seconds time;      ///< one call, alone on its GPU
  /// of the step: calls x time over the step time; over all points more than 1 where stages differ
  double share = 0;
  Flops flops;               ///< one call; 0: nothing is counted of it
  Bytes hbm, l2;             ///< one call: device memory, and between L2 and the multiprocessors (operator_traffic.h)
  std::string l2_from;       ///< "tiles of 256 x 128, waves of 12 x 11", "queries in blocks of 128", "each byte once"
  FlopsPerSecond rate;       ///< flops / time
  BytesPerSecond bandwidth;  ///< hbm / time
  /// rate over the datasheet's roof at the HBM intensity; without FLOPs bandwidth over the datasheet's
  double share_of_roof = 0;
  /// "compute", "HBM", "L2", or "launch" where starting it takes longer than all of these. "L2" only where somebody
  /// measured L2: beside an assumed slope nearly every product would be called so.
  std::string bound;
  Source source = Source::assumed;
  Spread spread;
  std::string law;
  bool extrapolated = false;
  std::string outside;  ///< of the frame: "no FLOPs counted", "0.02 FLOP/B lies left of the frame"; "" = inside
  std::string warning;  ///< above a roof: by how much and what to check; "" = below
  std::optional<MeasuredPoint> measured;

  [[nodiscard]] Seconds total() const { return time * calls; }
  /// FLOP per byte at this level; 0 without FLOPs.
  [[nodiscard]] double intensity(MemoryLevel level) const;
};

/// A timed kernel that is no operator of this run: drawn small, behind.
struct LoosePoint {
  std::string kind, shape, source;
  Precision precision = Precision::bf16;
  Flops flops;
  Bytes hbm;
  Seconds time;
  FlopsPerSecond rate;
  double flops_per_byte = 0, share_of_roof = 0;
  std::string outside, warning;
};

/// Heaviest first. Sequences cut into slices count the mean over slices. The optimizer and the gradient norm are points
/// of the block "step": the kernels alone, without the clip's collectives. Equal works of a block (the two norms of a
/// layer) are one point.
std::vector<OperatorPoint> operator_points(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs);

struct PlacedRows {
  std::vector<LoosePoint> loose;   ///< equal kernels in one, longest first
  std::vector<std::string> notes;  ///< how many rows were left out, and why
};

/// Kernels of `measurements` on this GPU, or on none that the file names: rows whose shape, pass and precision are
/// those of a point become its `measured`, the rest loose points. Rows with pulled-down clocks, with something beside
/// them, or out of a warm L2, and rows of other GPUs are left out and counted. Errors: no row is left.
Expected<PlacedRows> place_measured(const Measurements& measurements, const std::string& where, const Gpu& gpu,
    const Roofs& roofs, std::vector<OperatorPoint>& points);

}  // namespace stepcast::roofline
