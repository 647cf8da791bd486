// Lists the price of every item of a Program, one row each.
#pragma once

#include <string>
#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"

namespace stepcast::predict {

/// One priced item: a kernel, a collective or a send between stages.
struct PriceRow {
  std::string block, label, pass;
  std::string shape;  ///< "8192 x 1024 x 8192", "8192 keys", "tp 8 over node"
  Flops flops;
  Bytes bytes;   ///< memory traffic of a kernel, received bytes of a move
  Seconds time;  ///< one call
  Source source = Source::assumed;
  Spread spread;
  std::string law;
  std::string because;  ///< of a move: the statement and rule it follows from
};

std::vector<PriceRow> kernel_prices(const Program& program, const CostModel& cost);
std::vector<PriceRow> move_prices(const Program& program, const CostModel& cost);

}  // namespace stepcast::predict
