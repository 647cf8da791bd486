#include "studies/predict/prices.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/cost.h"

namespace stepcast::predict {
namespace {

const char* pass_name(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::recompute: return "recompute";
    case Pass::input_grad: return "input grad";
    case Pass::weight_grad: return "weight grad";
    case Pass::step: return "step";
  }
  return "?";
}

std::string shape_of(const KernelWork& work) {
  switch (work.kernel) {
    case KernelClass::gemm:
      return work.batch > 1 ? fmt::format("{:.0f} x {:.0f} x {:.0f}, {:.0f} times", work.m, work.n, work.k, work.batch)
                            : fmt::format("{:.0f} x {:.0f} x {:.0f}", work.m, work.n, work.k);
    case KernelClass::attention: return fmt::format("{:.0f} keys", work.sequence);
    case KernelClass::scan: return dataflow::shape_text(work.scan);
    case KernelClass::pointwise: return work.streams > 0 ? dataflow::streams_text(work, work.m) : "pointwise";
    case KernelClass::lookup: return "look-up";
  }
  return "";
}

PriceRow row_of(const std::string& block, const KernelWork& work, const CostModel& cost) {
  const Price price = cost.work(work);
  return {block, work.label, pass_name(work.pass), shape_of(work), work.flops, work.bytes, price.time, price.source,
      price.spread, price.law, ""};
}

/// Local moves (slices, masks) are free and not listed.
void add_move(std::vector<PriceRow>& rows, const std::string& block, const Move& move, const Program& program,
    const CostModel& cost) {
  if (move.group < 0) return;
  const Group& group = program.groups[static_cast<std::size_t>(move.group)];
  const Price price = cost.move(move, group);
  const Level& level = cost.machine().levels[static_cast<std::size_t>(span_of(group, cost.machine()).level)];
  const std::string shape = fmt::format("{} ({}) over {}", group.label, group.size, level.name);
  rows.push_back({block, move.label, pass_name(move.pass), shape, Flops(), move.received, price.time, price.source,
      price.spread, price.law, move.because});
}

void add_edges(std::vector<PriceRow>& rows, const Program& program, const CostModel& cost) {
  if (program.edges.empty()) return;
  const StageEdge& edge = program.edges.front();  // all carry the same tensor
  const Price price = cost.send(edge.bytes, edge.rank_distance);
  rows.push_back({"stages", "to the next stage", "forward", fmt::format("{} ranks away", edge.rank_distance), Flops(),
      edge.bytes, price.time, price.source, price.spread, price.law, "home on another stage"});
}

}  // namespace

std::vector<PriceRow> kernel_prices(const Program& program, const CostModel& cost) {
  std::vector<PriceRow> rows;
  for (const ProgramBlock& block : program.blocks)
    for (const KernelWork& work : block.works) rows.push_back(row_of(block.name, work, cost));
  return rows;
}

std::vector<PriceRow> move_prices(const Program& program, const CostModel& cost) {
  std::vector<PriceRow> rows;
  for (const ProgramBlock& block : program.blocks) {
    for (const Move& move : block.moves) add_move(rows, block.name, move, program, cost);
    for (const Move& move : block.step_moves) add_move(rows, block.name, move, program, cost);
  }
  for (const Move& move : program.shared) add_move(rows, "shared", move, program, cost);
  for (const Move& move : program.tail) add_move(rows, "tail", move, program, cost);
  add_edges(rows, program, cost);
  return rows;
}

}  // namespace stepcast::predict
