// Runs an order in time: every rank does its actions in order, each as soon as its inputs are there.
// Timing model: F(s,u) after F(s-1,u); I or fused B of (s,u) after that of (s+1,u) and F(s,u); W after I. A hop between
// ranks adds its time; stages on one rank hand over for nothing. A fused B hands its gradient on at its end.
//
// A fused pair starts when both of its actions may, lasts pair_factor x the sum of their times, and both end then.
//
// Overlapped hops are pure latency: start = max(rank free, input's end + hop). They occupy nobody.
//
// Blocking hops hold both ranks while they last, as in Megatron-LM's schedule without interleaving (core/
// pipeline_parallel/schedules.py, forward_backward_pipelining_without_interleaving): after each action a rank sends its
// result, then receives the next action's input, and computes only when both are through.
//   - Send and receive with the same peer are one batched exchange (send_forward_recv_backward,
//     send_backward_recv_forward): both run at once. With different peers the receive is posted after the send
//     (send_forward, then recv_forward, in the warm-up). Ranks with several chunks always batch
//     (send_forward_recv_forward of the interleaved schedule).
//   - A send holds its rank for the hop from the action's end. A receive holds its rank for the hop from the moment
//     when it is posted and the sender has sent, whichever is later; waiting for the sender is idle time, not hold.
//   - A fused pair sends both results and receives both inputs in one batch, whoever the peers are.
//   - A sender does not wait for a late receiver outside of an exchange, so no order deadlocks that runs overlapped.
//     For 1F1B, waiting would change no makespan (rendezvous_test.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/base/error.h"
#include "model/base/units.h"
#include "sim/schedule/order.h"

namespace stepcast {

/// Per virtual stage, one micro-batch. All vectors have ranks*chunks entries; hop[i] is between stages i and i+1.
/// A fused backward lasts input_grad + weight_grad.
struct StageTimes {
  std::vector<Seconds> forward, input_grad, weight_grad;
  std::vector<Seconds> hop_forward, hop_backward;  ///< ranks*chunks-1 entries; empty = 0
  bool blocking_hops = false;
  /// Measured or drawn durations of single units: stage * units + unit; empty = the stage's own figure for all.
  std::vector<double> forward_each, input_grad_each, weight_grad_each;
  std::vector<double> rank_slowdown;       ///< factor on every duration of a rank; empty = 1
  double pair_factor = 1;                  ///< a fused pair lasts this times the sum of its two
};

struct Timeline {
  std::vector<Seconds> start, end;        ///< by position in Order::actions
  Seconds makespan;                       ///< last end from 0
  Seconds span;                           ///< max over ranks of last end - first start
  std::vector<Seconds> busy;              ///< per rank, inside actions
  std::vector<Seconds> hop_wait;          ///< per rank, held by blocking hops
  /// Per rank and chunk, the largest number of units whose forward has begun and backward (weight-grad) is not done.
  std::vector<std::int32_t> peak_in_flight;        ///< per rank, summed over chunks
  std::vector<std::int32_t> peak_in_flight_stage;  ///< per virtual stage, at the moment of its rank's (first) peak
  std::vector<std::int32_t> peak_freed_at_input_grad;  ///< per rank, as peak_in_flight, but I frees
  std::vector<std::int32_t> peak_pending_weight_grads; ///< per rank: I done, W not
  std::vector<Seconds> rank_start, rank_end;       ///< first start and last end of each rank
  std::int64_t messages = 0;                       ///< hops between ranks, both ways
  [[nodiscard]] double bubble_fraction() const;    ///< 1 - sum(busy) / (ranks * makespan)
  /// 1 - sum(busy) / (ranks * span): ranks update without a barrier.
  [[nodiscard]] double bubble_fraction_span() const;
};

/// What the engine needs for one virtual stage, gathered from order and times.
struct EngineStage {
  double duration[4] = {};                       ///< by ActionKind, the rank's slow-down in it
  double slowdown = 1;                           ///< of the stage's rank
  double hop[2] = {};                            ///< into the stage, forward and backward; 0 from its own rank
  double hop_out[2] = {};                        ///< out of the stage, forward and backward
  std::int32_t from[2] = {-1, -1};               ///< stage whose result it takes, forward and backward; -1 = none
  std::int32_t to[2] = {-1, -1};                 ///< rank that waits for its result, forward and backward; -1 = none
  std::int32_t peer[2] = {-1, -1};               ///< rank that it receives from; -1 = none or its own
};

/// What the engine keeps for one rank.
struct EngineRank {
  double free = 0;                               ///< end of its last action
  double send = 0;                               ///< hop of that action's result, if blocking
  std::int32_t send_peer = -1;
  std::int32_t next = 0, end = 0;                ///< positions in Order::actions
  std::int64_t waits_for = -1;                   ///< slot of `done` that it waits for
};

/// Room that repeated runs share, so that a sweep allocates only while sizes grow. Contents are the engine's own.
struct EngineWorkspace {
  std::vector<EngineStage> stages;
  std::vector<EngineRank> ranks;
  std::vector<std::int32_t> ready;               ///< stack of ranks that may go on
  std::vector<double> done;                      ///< end by (direction, stage, micro-batch); negative = not yet
};

/// Times must be finite and not negative. Fails only when the order cannot run: the error names the cycle of actions
/// that wait for each other. O(actions), single pass.
Expected<Timeline> run(const Order& order, const StageTimes& times);
/// The same into `out`, whose old contents are replaced; allocates nothing when `out` and `workspace` have seen this
/// size.
Expected<void> run(const Order& order, const StageTimes& times, Timeline& out, EngineWorkspace& workspace);

/// Per rank, the largest sum over time of bytes_per_stage[s] x units in flight on s. A rank does one action (or pair)
/// at a time, so its order alone decides; stages' bytes may differ, so this peak need not be that of peak_in_flight.
std::vector<double> peak_weighted(const Order& order, std::span<const double> bytes_per_stage);
inline std::vector<double> peak_weighted(const Order& order, const Timeline&, std::span<const double> bytes_per_stage) {
  return peak_weighted(order, bytes_per_stage);
}

}  // namespace stepcast
