#include "studies/roofline/figures/boundaries.h"

#include <algorithm>

#include "studies/roofline/figures/boundary_nest.h"
#include "studies/roofline/figures/stage_work.h"

namespace stepcast::roofline {
namespace {

// What XLA's GPU cost model takes for the cache beside a multiprocessor, which is the same memory (openxla/xla
// xla/service/gpu/model/gpu_performance_model_base.h, kL1CacheSpeedup).
constexpr double shared_over_hbm = 8;

RoofBasis basis_of(const Roofs& roofs, MemoryLevel level) {
  const BytesPerSecond rate = roofs.bandwidth(level);
  for (const MemoryRoof& roof : roofs.memory)
    if (roof.level == level && roof.rate == rate) return roof.basis;
  return RoofBasis::assumed;
}

/// FlashAttention-2 (arXiv 2307.08691, section 3): forward a thread block keeps queries and their results while keys
/// and values pass, backward keys, values and their gradients while the rest passes.
const char* attention_stays(const KernelWork& work) {
  return work.backward ? "keys, values and their gradients" : "queries and outputs";
}

class BoundaryView {
 public:
  BoundaryView(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs)
      : gpu_(scenario.machine.row.gpu), roofs_(roofs), work_(scenario, prediction), program_(work_.programs().front()),
        cost_(cost_model(scenario).with_ranks(program_.ranks)) {}

  OperatorBoundaries of(const OperatorPoint& point) const {
    OperatorBoundaries one;
    one.block = point.block, one.name = point.name, one.shape = point.shape;
    one.pass = point.pass, one.kind = point.kind, one.share = point.share;
    one.flops = point.flops, one.time = point.time;
    const FlopsPerSecond peak = roofs_.peak(point.precision);
    if (peak.value() > 0) one.compute = point.flops / peak;
    add_inside(point, one);
    add_links(point, one);
    for (BoundaryRow& row : one.rows) place(row, point.flops, peak);
    find_limit(one);
    return one;
  }

 private:
  [[nodiscard]] BoundaryRow memory_row(MemoryLevel level, Bytes bytes) const {
    BoundaryRow row;
    row.outer = to_text(level);
    row.inner = level == MemoryLevel::hbm ? "L2" : "shared memory";
    row.bytes = bytes;
    row.rate = roofs_.bandwidth(level);
    row.basis = basis_of(roofs_, level);
    row.stationary = "none";
    return row;
  }

  void add_inside(const OperatorPoint& point, OperatorBoundaries& one) const {
    if (point.kernel == KernelClass::gemm) {
      if (const auto nest = product_nest(point.work, point.operand_bytes, gpu_)) return add_nest(point, *nest, one);
    }
    if (multiplies(point.work) && point.kernel != KernelClass::pointwise) {
      one.rows.push_back(memory_row(MemoryLevel::l2, point.l2));
      one.rows.back().text = point.l2_from;
      if (point.kernel == KernelClass::attention) one.rows.back().stationary = attention_stays(point.work);
    }
    one.rows.push_back(memory_row(MemoryLevel::hbm, point.hbm));
    one.rows.back().text = "each byte once";
  }

  /// L2 and HBM take the point's bytes, which are those of the roofline: casts beside the product and accumulators are
  /// in them.
  void add_nest(const OperatorPoint& point, const ProductNest& nest, OperatorBoundaries& one) const {
    one.nest = nest.line;
    for (const NestCrossing& crossing : nest.crossings) {
      BoundaryRow row;
      if (crossing.outer == to_text(MemoryLevel::hbm)) row = memory_row(MemoryLevel::hbm, point.hbm);
      else if (crossing.outer == to_text(MemoryLevel::l2)) row = memory_row(MemoryLevel::l2, point.l2);
      else row.bytes = Bytes(crossing.bytes), row.basis = RoofBasis::assumed;
      row.outer = crossing.outer, row.inner = crossing.inner;
      row.stationary = crossing.stationary;
      row.text = crossing.text;
      if (row.outer == "shared memory") row.rate = shared_over_hbm * gpu_.memory_bandwidth;
      if (row.outer == "registers")
        row.text = "every multiply-add counted alone: tensor cores share operands inside an instruction";
      one.rows.push_back(std::move(row));
    }
  }

  void add_links(const OperatorPoint& point, OperatorBoundaries& one) const {
    for (const ProgramBlock& block : program_.blocks) {
      if (block.name != point.block) continue;
      for (std::size_t i = 0; i < block.works.size(); ++i) {
        const KernelWork& work = block.works[i];
        if (work.label != point.work.label || work.pass != point.work.pass || !(work.bytes == point.work.bytes))
          continue;
        for (BoundaryRow& row : move_rows(program_, block, static_cast<int>(i), cost_))
          one.rows.push_back(std::move(row));
        return;
      }
    }
  }

  static void place(BoundaryRow& row, Flops flops, FlopsPerSecond peak) {
    if (row.bytes.value() > 0) row.flops_per_byte = (flops / row.bytes).value();
    if (row.rate.value() <= 0) return;
    if (row.time.value() <= 0) row.time = row.bytes / row.rate;
    row.ridge = (peak / row.rate).value();
  }

  static void find_limit(OperatorBoundaries& one) {
    one.limit = "compute";
    BoundaryRow* longest = nullptr;
    for (BoundaryRow& row : one.rows)
      if (row.basis != RoofBasis::assumed && row.time > (longest ? longest->time : one.compute)) longest = &row;
    if (!longest) return;
    longest->limits = true;
    one.limit = longest->outer;
  }

  const Gpu& gpu_;
  const Roofs& roofs_;
  const StageWork work_;
  const Program& program_;
  const CostModel cost_;
};

}  // namespace

std::vector<OperatorBoundaries> operator_boundaries(const Scenario& scenario, const Prediction& prediction,
    const std::vector<OperatorPoint>& points, const Roofs& roofs) {
  const BoundaryView view(scenario, prediction, roofs);
  std::vector<OperatorBoundaries> all;
  all.reserve(points.size());
  for (const OperatorPoint& point : points) all.push_back(view.of(point));
  return all;
}

}  // namespace stepcast::roofline
