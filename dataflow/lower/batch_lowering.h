// One plan of an engine's iterations, lowered for batches of several sizes.
#pragma once

#include <cstdint>
#include <memory>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"

namespace stepcast::dataflow {

struct ParsedPlan;

/// Of an iteration's plan: what differs between batches.
struct PlanSizes {
  std::int64_t micro_batch = 1, global_batch = 1, sequence = 0, cached = 0;
};

/// What does not depend on their sizes is found once.
class BatchLowering {
 public:
  /// All three must outlive it.
  BatchLowering(const NetworkSpec& spec, const Stack& stack, const ParsedPlan& read);
  ~BatchLowering();
  BatchLowering(const BatchLowering&) = delete;
  BatchLowering& operator=(const BatchLowering&) = delete;

  /// As lower() does it.
  Expected<Program> first(const Plan& plan);
  /// The same plan with other sizes, after first(): works, moves and what crosses between stages are those of lower(),
  /// which makes all of it where more than sizes would differ; what stays (buffers, parameters, notes) and which items
  /// wait for which is told by the first alone.
  Expected<Program> another(const PlanSizes& sizes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepcast::dataflow
