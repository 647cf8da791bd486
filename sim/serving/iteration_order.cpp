// An iteration kernel by kernel: blocks of a Program in their order, with the prices of time().
#include <algorithm>

#include "sim/serving/iteration.h"

namespace stepcast::sim {

std::vector<IterationSlice> IterationForm::in_order(
    std::span<const Rows> rows, const EngineCost& cost, bool graph, const IterationTime& whole) const {
  const PackedRows packed = pack(rows);
  const Engine::Tuning& tuning = cost.tuning();
  const double beyond = beyond_profiled(whole.sums, cost.engine(), tuning);
  std::vector<std::vector<IterationSlice>> blocks;
  const auto add = [&](const PackedLine& line, std::string shape, const LinePrice& price) {
    blocks.resize(std::max(blocks.size(), static_cast<std::size_t>(line.block) + 1));
    blocks[static_cast<std::size_t>(line.block)].push_back({line.label, std::move(shape), !line.work, 0, line.block, {},
        line.tuned(price, tuning) * (line.work ? 1 : beyond), 0});
  };
  for (const PackedLine& line : lines_) {
    if (!line.runs_for(packed)) continue;
    if (!line.by_row()) {
      add(line, line.shape(packed), line.price(packed, routing(packed), cost, graph));
      continue;
    }
    for (const Rows& row : rows)
      if (serves(line, kind_of(row)) && !line.idles_for(row)) add(line, line.shape(row), line.price(row, cost));
  }
  std::vector<IterationSlice> order;
  Seconds now;
  int layer = 0;
  for (const Run& run : runs_) {
    if (static_cast<std::size_t>(run.block) >= blocks.size()) continue;
    for (std::int64_t i = 0; i < run.count; ++i, ++layer)
      for (const IterationSlice& slice : blocks[static_cast<std::size_t>(run.block)]) {
        order.push_back(slice);
        order.back().start = now, order.back().layer = layer, order.back().stage = run.stage;
        now += slice.time;
      }
  }
  return order;
}

}  // namespace stepcast::sim
