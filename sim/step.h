// One training step: what the pipeline takes, and what stands around it. The phases sum to the step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/cost.h"
#include "sim/memory.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast {

/// Seconds of the slowest stage's rank; they sum to the step time.
///   forward, backward          its kernels (recompute counts into backward), slowed by moves beside them
///   exposed_communication      its kernels waiting for moves inside blocks, and blocking sends between stages
///   bubble                     the rest of the pipeline's makespan
///   gradient_sync ... host     after the pipeline (parameter_gather may also delay its start)
struct Phases {
  Seconds data_wait, host_to_device, forward, backward, bubble, exposed_communication, gradient_sync, clip, optimizer,
      parameter_gather, host;
  [[nodiscard]] Seconds sum() const;
};

struct StageReport {
  Seconds forward, input_grad, weight_grad;  ///< one micro-batch, all chunks of the stage; one each way with two copies
  std::int64_t layers = 0;
};

struct CollectiveReport {
  std::string name, kind, axis, span;  ///< span: name of the machine level crossed
  std::int64_t group_size = 1;
  Bytes bytes;            ///< received per rank and call
  double count = 0;       ///< calls per step on a rank of `stage`
  Seconds time, exposed;  ///< summed over the step
  Source source = Source::assumed;
  std::string because;
  int stage = 0;         ///< the slowest stage, or the slowest of those that have this row
  const char* law = "";  ///< behind the price, see Price::law
  Pass pass = Pass::forward;
};

struct StepReport {
  Seconds step_time, p10, p90;
  const char* interval_kind = "";              ///< runs whose spread widened the interval: "runs with routed rows", or ""
  double tokens_per_s_per_gpu = 0;
  FlopsPerSecond hardware_flops_per_gpu;  ///< executed on tensor cores incl. recompute
  Flops hardware_flops;                   ///< of the step, all ranks
  double bubble_fraction = 0;             ///< of the makespan, idle time averaged over ranks
  Seconds kernel_time;                    ///< in kernels, without waiting for moves, averaged over ranks
  Phases phases;
  std::vector<StageReport> stages;
  std::vector<CollectiveReport> collectives;
  MemoryReport memory;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< what the schedule makes us assume or leave out
  Order order;
  StageTimes times;  ///< what the timeline was run with, per virtual stage of `order`
  Timeline timeline;
  int slowest_stage = 0;  ///< whose rank the phases are of
};

/// Fails when the schedule cannot run this many micro-batches on these stages. `memory_cap` holds the activations of
/// every rank down, in the unit of Timeline::peak_in_flight; 0 = none. Kinds that cannot keep to it are refused.
Expected<StepReport> forecast(const Program& program, const CostModel& cost, double memory_cap = 0);

/// The same with the sequence cut: the program of each slice, first to last (slice_programs).
Expected<StepReport> forecast_slices(std::span<const Program> slices, const CostModel& cost, double memory_cap = 0);

/// From the program of a sequence as long as one slice, those of `slices` slices: the attention of slice i also sees the
/// keys of the i slices before it. The attention must be one kernel that sees all keys of its rank's own positions.
std::vector<Program> slice_programs(const Program& first, int slices);

}  // namespace stepcast
