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

#include <span>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/engine/engine_workspace.h"
#include "sim/schedule/engine/timeline.h"

namespace stepcast::sim {

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

}  // namespace stepcast::sim
