// What a forecast says of one training step. The phases sum to the step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"
#include "sim/memory/memory_report.h"
#include "sim/schedule/engine/timeline.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

/// Seconds of the slowest stage's rank; they sum to the step time.
///   forward, backward          its kernels (recompute counts into backward), slowed by moves beside them
///   exposed_communication      its kernels waiting for moves inside blocks, and blocking sends between stages
///   bubble                     the rest of the pipeline's makespan
///   gradient_sync ... host     after the pipeline (parameter_gather may also delay its start)
struct Phases {
  Seconds data_wait, host_to_device, forward, backward, bubble, exposed_communication, gradient_sync, clip, optimizer,
      parameter_gather, host;
  [[nodiscard]] Seconds sum() const {
    return data_wait + host_to_device + forward + backward + bubble + exposed_communication + gradient_sync + clip +
           optimizer + parameter_gather + host;
  }
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

/// A law whose price is not measured here, and its part of the step.
struct PriceDoubt {
  std::string text;  ///< "memory stream: assumed, nothing measured; its calls take"
  double share = 0;
  /// "... 6.3 % of the step"; `how`: "up to " of several steps
  [[nodiscard]] std::string in_words(std::string_view how = "") const;
};

struct StepReport {
  Seconds step_time, p10, p90;
  /// runs whose spread widened the interval: "runs with routed rows", or ""
  const char* interval_kind = "";
  double tokens_per_s_per_gpu = 0;
  FlopsPerSecond hardware_flops_per_gpu;  ///< executed on tensor cores incl. recompute
  Flops hardware_flops;                   ///< of the step, all ranks
  double bubble_fraction = 0;             ///< of the makespan, idle time averaged over ranks
  Seconds kernel_time;                    ///< in kernels, without waiting for moves, averaged over ranks
  Phases phases;
  std::vector<StageReport> stages;
  std::vector<CollectiveReport> collectives;
  MemoryReport memory;
  std::vector<PriceDoubt> doubts;
  std::vector<std::string> warnings;  ///< doubts in words; where memory does not fit, the last one says so
  std::vector<std::string> notes;     ///< what the schedule makes us assume or leave out
  Order order;
  StageTimes times;  ///< what the timeline was run with, per virtual stage of `order`
  Timeline timeline;
  int slowest_stage = 0;  ///< whose rank the phases are of
};

}  // namespace stepcast::sim
