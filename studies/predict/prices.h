// Lists the price of every item of a Program, one row each.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"
#include "studies/predict/explain.h"

namespace stepcast {

std::vector<PriceRow> kernel_prices(const Program& program, const CostModel& cost);
std::vector<PriceRow> move_prices(const Program& program, const CostModel& cost);

}  // namespace stepcast
