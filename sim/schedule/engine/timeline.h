// Times of stages and of what runs on them: what the engine is given, and what it gives back.
#pragma once

#include <cstdint>
#include <vector>

#include "model/base/units.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

/// Per virtual stage, one micro-batch. All vectors have ranks*chunks entries; hop[i] is between stages i and i+1.
/// A fused backward lasts input_grad + weight_grad.
struct StageTimes {
  std::vector<Seconds> forward, input_grad, weight_grad;
  std::vector<Seconds> hop_forward, hop_backward;  ///< ranks*chunks-1 entries; empty = 0
  bool blocking_hops = false;
  /// Measured or drawn durations of single units: stage * units + unit; empty = the stage's own figure for all.
  std::vector<double> forward_each, input_grad_each, weight_grad_each;
  std::vector<double> rank_slowdown;  ///< factor on every duration of a rank; empty = 1
  double pair_factor = 1;             ///< a fused pair lasts this times the sum of its two
};

struct Timeline {
  std::vector<Seconds> start, end;  ///< by position in Order::actions
  Seconds makespan;                 ///< last end from 0
  Seconds span;                     ///< max over ranks of last end - first start
  std::vector<Seconds> busy;        ///< per rank, inside actions
  std::vector<Seconds> hop_wait;    ///< per rank, held by blocking hops
  /// Per rank and chunk, the largest number of units whose forward has begun and backward (weight-grad) is not done.
  std::vector<std::int32_t> peak_in_flight;             ///< per rank, summed over chunks
  std::vector<std::int32_t> peak_in_flight_stage;       ///< per virtual stage, at the moment of its rank's (first) peak
  std::vector<std::int32_t> peak_freed_at_input_grad;   ///< per rank, as peak_in_flight, but I frees
  std::vector<std::int32_t> peak_pending_weight_grads;  ///< per rank: I done, W not
  std::vector<Seconds> rank_start, rank_end;            ///< first start and last end of each rank
  std::int64_t messages = 0;                            ///< hops between ranks, both ways
  [[nodiscard]] double bubble_fraction() const;         ///< 1 - sum(busy) / (ranks * makespan)
  /// 1 - sum(busy) / (ranks * span): ranks update without a barrier.
  [[nodiscard]] double bubble_fraction_span() const;
};

}  // namespace stepcast::sim
