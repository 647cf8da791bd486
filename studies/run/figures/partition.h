// How a forecast's layers lie on its pipeline, how unequal that makes the stages, and what equal ones would save.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/engine/balance.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

struct PartitionReport {
  std::vector<std::int64_t> layers;  ///< per virtual stage, in forward order
  std::string layout;                ///< the same as Megatron writes it
  Balance balance;
};

/// Runs the pipeline once more, with equal stages.
PartitionReport partition_report(const Scenario& scenario, const Prediction& prediction);

}  // namespace stepcast::run
