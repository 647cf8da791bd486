// The event loop. Ranks that may go on stand on a stack; the one on top runs its actions until an input is missing,
// and whoever produces that input puts it back. Each action is looked at once, plus once per wait.
#include "sim/schedule/engine/engine.h"

#include <algorithm>
#include <cassert>

#include "sim/schedule/engine/engine_parts.h"

namespace stepcast::sim {
namespace engine {
namespace {

constexpr double not_done = -1;
constexpr std::int64_t nothing = -1;     ///< is missing
constexpr std::int32_t pair_peers = -2;  ///< as send_peer: results of a pair, sent in one batch with any receive

/// Slots of `done`: all forwards, then all input gradients (fused or not). Stage-major.
class Slots {
 public:
  explicit Slots(const Order& order) : units_(order.units()), half_(std::int64_t{order.stages()} * order.units()) {}
  [[nodiscard]] std::int64_t at(int direction, int stage, int unit) const {
    return direction * half_ + std::int64_t{stage} * units_ + unit;
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(2 * half_); }

 private:
  std::int64_t units_, half_;
};

/// An action with what it takes and gives.
struct Step {
  const EngineStage* stage = nullptr;
  int direction = ahead;
  std::int64_t own = 0;  ///< slot of its result; of its input gradient if it is a weight gradient
  double input = 0;      ///< end of what another stage hands it
  double duration = 0;
};

/// One run over one order. The template parameters keep questions out of runs that need not ask them.
template <bool blocking, bool each> class Loop {
 public:
  Loop(const Order& order, const StageTimes& times, Timeline& out, EngineWorkspace& work)
      : slots_(order), units_(order, times), pair_factor_(times.pair_factor), actions_(order.actions.data()),
        stages_(work.stages.data()), ranks_(work.ranks.data()), done_(work.done.data()), ready_(work.ready), out_(out),
        batches_always_(order.chunks > 1) {}

  void run_all() {
    while (!ready_.empty()) {
      const std::int32_t rank = ready_.back();
      ready_.pop_back();
      run_rank(rank);
    }
  }

 private:
  void run_rank(std::int32_t rank) {
    EngineRank state = ranks_[rank];
    state.waits_for = nothing;
    double busy = 0, held = 0;
    while (state.next < state.end) {
      const Action& action = actions_[state.next];
      state.waits_for = action.with_next ? run_pair(rank, state, busy, held) : run_single(rank, state, busy, held);
      if (state.waits_for != nothing) break;
    }
    ranks_[rank] = state;
    out_.busy[rank] += Seconds(busy);
    if constexpr (blocking) out_.hop_wait[rank] += Seconds(held);
  }

  /// The slot of what is missing, or `nothing` once the action has run.
  std::int64_t run_single(std::int32_t rank, EngineRank& state, double& busy, double& held) {
    const Action& action = actions_[state.next];
    Step step;
    if (const std::int64_t missing = look_at(action, step); missing != nothing) return missing;
    const bool weights = action.kind == ActionKind::weight_grad;
    const int peer = weights ? -1 : step.stage->peer[step.direction];
    const double start = start_of(state, peer, step.input, step.stage->hop[step.direction], held);
    state.free = start + step.duration;
    busy += step.duration;
    note(state.next++, start, state.free);
    state.send = 0;
    state.send_peer = -1;
    if (!weights) hand_on(step, rank, state);
    return nothing;
  }

  /// Two actions at once: they start when both have their inputs and end together.
  std::int64_t run_pair(std::int32_t rank, EngineRank& state, double& busy, double& held) {
    assert(state.next + 1 < state.end);
    Step first, second;
    if (const std::int64_t missing = look_at(actions_[state.next], first); missing != nothing) return missing;
    if (const std::int64_t missing = look_at(actions_[state.next + 1], second); missing != nothing) return missing;
    const double start = pair_start(state, first, second, held);
    const double duration = pair_factor_ * (first.duration + second.duration);
    state.free = start + duration;
    busy += duration;
    note(state.next++, start, state.free);
    note(state.next++, start, state.free);
    state.send = 0;
    hand_on(first, rank, state);
    hand_on(second, rank, state);
    state.send_peer = pair_peers;
    return nothing;
  }

  void note(std::int32_t position, double start, double end) {
    out_.start[position] = Seconds(start);
    out_.end[position] = Seconds(end);
  }

  /// Fills `step`, unless an input is missing: then its slot.
  std::int64_t look_at(const Action& action, Step& step) const {
    const EngineStage& stage = stages_[action.stage];
    const int direction = action.kind == ActionKind::forward ? ahead : back;
    step.stage = &stage;
    step.direction = direction;
    step.own = slots_.at(direction, action.stage, action.micro_batch);
    step.duration = duration_of(action, stage);
    if (action.kind == ActionKind::weight_grad) return done_[step.own] < 0 ? step.own : nothing;
    if (direction == back) {
      const std::int64_t forward = slots_.at(ahead, action.stage, action.micro_batch);
      if (done_[forward] < 0) return forward;
    }
    if (stage.from[direction] < 0) return nothing;
    const std::int64_t from = slots_.at(direction, stage.from[direction], action.micro_batch);
    step.input = done_[from];
    return step.input < 0 ? from : nothing;
  }

  double duration_of(const Action& action, const EngineStage& stage) const {
    if constexpr (each) return units_.of(action, stage);
    return stage.duration[static_cast<int>(action.kind)];
  }

  /// See the rules for hops in engine.h.
  double start_of(const EngineRank& state, int peer, double input, double hop, double& held) const {
    if constexpr (!blocking) return std::max(state.free, input + hop);
    const double sent = state.free + state.send;
    if (peer < 0) {
      held += state.send;
      return std::max(sent, input);
    }
    const bool together = batches_always_ || peer == state.send_peer || state.send_peer == pair_peers;
    const double begins = std::max(together ? state.free : sent, input);
    const double start = std::max(sent, begins + hop);
    held += begins >= sent ? state.send + hop : start - state.free;
    return start;
  }

  /// Both inputs of a pair arrive in one batch with what the rank sends.
  double pair_start(const EngineRank& state, const Step& first, const Step& second, double& held) const {
    const double hops[2] = {first.stage->hop[first.direction], second.stage->hop[second.direction]};
    if constexpr (!blocking) return std::max({state.free, first.input + hops[0], second.input + hops[1]});
    double covered = state.free + state.send;  // the rank is held up to here, but for the gaps that are idle
    held += state.send;
    const bool swapped = second.input < first.input;
    for (const int i : {swapped ? 1 : 0, swapped ? 0 : 1}) {
      const double begins = std::max(state.free, i == 0 ? first.input : second.input);
      held += std::max(0.0, begins + hops[i] - std::max(covered, begins));
      covered = std::max(covered, begins + hops[i]);
    }
    return covered;
  }

  /// Leaves the result to its taker, who may be waiting for it.
  void hand_on(const Step& step, std::int32_t rank, EngineRank& state) {
    done_[step.own] = state.free;
    const std::int32_t taker = step.stage->to[step.direction];
    if constexpr (blocking) {
      state.send = std::max(state.send, step.stage->hop_out[step.direction]);
      state.send_peer = taker == rank ? -1 : taker;
    }
    if (taker >= 0 && ranks_[taker].waits_for == step.own && taker != rank) {
      ranks_[taker].waits_for = nothing;
      ready_.push_back(taker);
    }
  }

  Slots slots_;
  UnitDurations units_;
  double pair_factor_;
  const Action* actions_;
  const EngineStage* stages_;
  EngineRank* ranks_;
  double* done_;
  std::vector<std::int32_t>& ready_;
  Timeline& out_;
  bool batches_always_;
};

void prepare(const Order& order, Timeline& out, EngineWorkspace& work) {
  const auto ranks = static_cast<std::size_t>(order.ranks);
  work.done.assign(Slots(order).count(), not_done);
  work.ranks.assign(ranks, EngineRank{});
  work.ready.clear();
  for (std::int32_t rank = order.ranks - 1; rank >= 0; --rank) {
    work.ranks[rank].next = order.begin[rank];
    work.ranks[rank].end = order.begin[rank + 1];
    work.ready.push_back(rank);
  }
  out.start.resize(order.actions.size());
  out.end.resize(order.actions.size());
  out.busy.assign(ranks, Seconds());
  out.hop_wait.assign(ranks, Seconds());
}

template <bool blocking>
void run_loop(const Order& order, const StageTimes& times, Timeline& out, EngineWorkspace& work) {
  const bool each = !times.forward_each.empty() || !times.input_grad_each.empty() || !times.weight_grad_each.empty();
  if (each) {
    Loop<blocking, true>(order, times, out, work).run_all();
  } else {
    Loop<blocking, false>(order, times, out, work).run_all();
  }
}

bool finished(const EngineWorkspace& work) {
  return std::all_of(
      work.ranks.begin(), work.ranks.end(), [](const EngineRank& rank) { return rank.next == rank.end; });
}

}  // namespace
}  // namespace engine

Expected<void> run(const Order& order, const StageTimes& times, Timeline& out, EngineWorkspace& workspace) {
  engine::gather_stages(order, times, workspace);
  engine::prepare(order, out, workspace);
  if (times.blocking_hops) {
    engine::run_loop<true>(order, times, out, workspace);
  } else {
    engine::run_loop<false>(order, times, out, workspace);
  }
  if (!engine::finished(workspace)) return tl::unexpected(engine::name_deadlock(order, workspace));
  engine::summarise(order, out);
  engine::count_in_flight(order, out);
  return {};
}

Expected<Timeline> run(const Order& order, const StageTimes& times) {
  Timeline timeline;
  EngineWorkspace workspace;
  TRY(run(order, times, timeline, workspace));
  return timeline;
}

}  // namespace stepcast::sim
