// Which values a sweep tries of a field where nobody says, and which could ever be legal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/stack.h"

namespace stepcast::run {

/// What the defaults of an axis go by.
struct AxisContext {
  const NetworkSpec* network = nullptr;
  const Machine* machine = nullptr;
  std::int64_t most_gpus = 1;  ///< the largest of the sweep's GPU counts
  std::int64_t global_batch = 1, sequence = 1;
  const Stack* stack = nullptr;  ///< null: not known yet
};

using AxisValues = std::vector<std::string>;

// One value is what predict takes; no value at all: it must be said, or there is no list of all.
AxisValues no_values(const AxisContext& c);
AxisValues one_alone(const AxisContext& c);
AxisValues auto_alone(const AxisContext& c);
AxisValues off_alone(const AxisContext& c);
AxisValues off_and_on(const AxisContext& c);
AxisValues usual_precisions(const AxisContext& c);
AxisValues all_precisions(const AxisContext& c);
AxisValues usual_tp(const AxisContext& c);
AxisValues all_tp(const AxisContext& c);
AxisValues usual_cp(const AxisContext& c);
AxisValues all_cp(const AxisContext& c);
AxisValues ring_alone(const AxisContext& c);
AxisValues all_cp_kinds(const AxisContext& c);
AxisValues usual_pp(const AxisContext& c);
AxisValues all_pp(const AxisContext& c);
AxisValues usual_chunks(const AxisContext& c);
AxisValues all_chunks(const AxisContext& c);
AxisValues usual_layouts(const AxisContext& c);
AxisValues all_layouts(const AxisContext& c);
AxisValues usual_ep(const AxisContext& c);
AxisValues all_ep(const AxisContext& c);
AxisValues all_etp(const AxisContext& c);
AxisValues usual_orders(const AxisContext& c);
AxisValues all_orders(const AxisContext& c);
AxisValues usual_recompute(const AxisContext& c);
AxisValues all_recompute(const AxisContext& c);
AxisValues usual_micro_batches(const AxisContext& c);
AxisValues all_micro_batches(const AxisContext& c);
AxisValues all_schedule_kinds(const AxisContext& c);
AxisValues all_zero(const AxisContext& c);
AxisValues all_replicas(const AxisContext& c);

}  // namespace stepcast::run
