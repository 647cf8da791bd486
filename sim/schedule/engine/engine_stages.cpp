// Turns stage times and placement into one row per virtual stage, so that the event loop knows neither neighbours nor
// kinds: a placement with other neighbours (two directions, V) only changes these rows.
#include <cassert>

#include "sim/schedule/engine/engine_parts.h"

namespace stepcast::sim::engine {
namespace {

double hop_between(const std::vector<Seconds>& hops, int lower_stage) {
  assert(hops.empty() || hops[lower_stage] >= Seconds());
  return hops.empty() ? 0.0 : hops[lower_stage].value();
}

void set_durations(EngineStage& row, const StageTimes& times, int stage, int rank) {
  row.slowdown = times.rank_slowdown.empty() ? 1.0 : times.rank_slowdown[rank];
  const double forward = row.slowdown * times.forward[stage].value();
  const double input_grad = row.slowdown * times.input_grad[stage].value();
  const double weight_grad = row.slowdown * times.weight_grad[stage].value();
  assert(forward >= 0 && input_grad >= 0 && weight_grad >= 0);
  row.duration[static_cast<int>(ActionKind::forward)] = forward;
  row.duration[static_cast<int>(ActionKind::backward)] = input_grad + weight_grad;
  row.duration[static_cast<int>(ActionKind::input_grad)] = input_grad;
  row.duration[static_cast<int>(ActionKind::weight_grad)] = weight_grad;
}

/// `from` hands its result to `to`.
void connect(EngineWorkspace& workspace, const Order& order, Direction direction, int from, int to, double hop) {
  EngineStage& giver = workspace.stages[from];
  EngineStage& taker = workspace.stages[to];
  taker.from[direction] = from;
  giver.to[direction] = order.rank_of[to];
  if (order.rank_of[from] == order.rank_of[to]) return;
  taker.peer[direction] = order.rank_of[from];
  taker.hop[direction] = hop;
  giver.hop_out[direction] = hop;
}

}  // namespace

void gather_stages(const Order& order, const StageTimes& times, EngineWorkspace& workspace) {
  const int stages = order.stages();
  [[maybe_unused]] const auto count = static_cast<std::size_t>(stages);
  assert(times.forward.size() == count && times.input_grad.size() == count && times.weight_grad.size() == count);
  assert(times.hop_forward.empty() || times.hop_forward.size() + 1 == count);
  assert(times.hop_backward.empty() || times.hop_backward.size() + 1 == count);
  assert(times.rank_slowdown.empty() || times.rank_slowdown.size() == static_cast<std::size_t>(order.ranks));
  [[maybe_unused]] const auto fits = [&](const std::vector<double>& each) {
    return each.empty() || each.size() == count * static_cast<std::size_t>(order.units());
  };
  assert(fits(times.forward_each) && fits(times.input_grad_each) && fits(times.weight_grad_each));
  workspace.stages.assign(static_cast<std::size_t>(stages), EngineStage{});
  for (int stage = 0; stage < stages; ++stage)
    set_durations(workspace.stages[stage], times, stage, order.rank_of[stage]);
  for (int stage = 0; stage < stages; ++stage) {
    const int next = order.after(stage);
    if (next < 0) continue;
    connect(workspace, order, ahead, stage, next, hop_between(times.hop_forward, stage));
    connect(workspace, order, back, next, stage, hop_between(times.hop_backward, stage));
  }
}

}  // namespace stepcast::sim::engine
