// Cases of Megatron-LM's own tests (tests/functional_tests/test_cases): MODEL_ARGS holds what its program is told, by
// the names of the command line, beside variables and what the test compares.
#pragma once

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

bool is_megatron_case(const Launch& launch);

/// Leaves its arguments, its variables and the question which program it runs.
void open_megatron_case(Launch& launch);

}  // namespace stepcast::launch
