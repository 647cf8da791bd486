// What micro-batches of two sizes do and hold, under one plan.
#pragma once

#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"

namespace stepcast::dataflow {

class BuiltNetworks;

struct PassesPair {
  Program one, two;
};

/// Two times lower_passes(), of the plan and of the same with micro-batches and a batch of twice as many sequences.
/// What is placed for the first serves the second too, where all its bytes are as many or twice as many.
Expected<PassesPair> lower_passes_pair(
    const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built);

}  // namespace stepcast::dataflow
