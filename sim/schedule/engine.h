// Runs an order in time: every rank does its actions in order, each as soon as its inputs are there.
// Timing model: F(s,u) after F(s-1,u); I or fused B of (s,u) after that of (s+1,u) and F(s,u); W after I. A hop between
// ranks adds its time. Overlapped hops occupy nobody; blocking hops hold both ranks while they last (Megatron's 1F1B).
#pragma once

#include <vector>

#include "model/error.h"
#include "model/units.h"
#include "sim/schedule/order.h"

namespace stepcast {

/// Per virtual stage, one micro-batch. All vectors have ranks*chunks entries; hop[i] is between stages i and i+1.
struct StageTimes {
  std::vector<Seconds> forward, input_grad, weight_grad;
  std::vector<Seconds> hop_forward, hop_backward;  ///< ranks*chunks-1 entries; empty = 0
  bool blocking_hops = false;
};

struct Timeline {
  std::vector<Seconds> start, end;        ///< by position in Order::actions
  Seconds makespan;                       ///< last end from 0
  Seconds span;                           ///< max over ranks of last end - first start
  std::vector<Seconds> busy;              ///< per rank, inside actions
  std::vector<Seconds> hop_wait;          ///< per rank, held by blocking hops
  /// Per rank and chunk, the largest number of micro-batches whose forward is done and backward (weight-grad) is not.
  std::vector<std::int32_t> peak_in_flight;        ///< per rank, summed over chunks
  std::vector<std::int32_t> peak_in_flight_stage;  ///< per virtual stage, at the moment of its rank's peak
  [[nodiscard]] double bubble_fraction() const;    ///< 1 - sum(busy) / (ranks * makespan)
};

/// Fails only when the order cannot run: the error names the cycle of actions that wait for each other.
Expected<Timeline> run(const Order& order, const StageTimes& times);

}  // namespace stepcast
