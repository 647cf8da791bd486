// Adds settings of benchmark recipes that records do not repeat: dispatchers, CUDA graphs, overlap of expert exchanges.
// They stand in the recipes of the release that a record names.
#pragma once

#include <string>
#include <vector>

#include "model/stack.h"
#include "studies/records/run_record.h"

namespace stepcast::records {

/// Applies what the recipe of this run's release, network, GPU and precision sets; says so among the assumptions.
void follow_recipe(const Run& run, Stack& stack, std::vector<std::string>& assumptions);

}  // namespace stepcast::records
