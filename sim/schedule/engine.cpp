// The event loop. Ranks that may go on stand on a stack; the one on top runs its actions until an input is missing,
// and whoever produces that input puts it back. Each action is looked at once, plus once per wait.
#include "sim/schedule/engine.h"

#include <algorithm>
#include <cassert>

#include "sim/schedule/engine_parts.h"

namespace stepcast {
namespace engine {
namespace {

constexpr double not_done = -1;

/// Slots of `done`: all forwards, then all input gradients (fused or not). Stage-major.
class Slots {
 public:
  explicit Slots(const Order& order)
      : micro_batches_(order.micro_batches), half_(std::int64_t{order.stages()} * order.micro_batches) {}
  [[nodiscard]] std::int64_t at(int direction, int stage, int micro_batch) const {
    return direction * half_ + std::int64_t{stage} * micro_batches_ + micro_batch;
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(2 * half_); }

 private:
  std::int64_t micro_batches_, half_;
};

/// One run over one order. `blocking` is a template parameter: overlapped runs should not pay for its questions.
template <bool blocking>
class Loop {
 public:
  Loop(const Order& order, Timeline& out, EngineWorkspace& work)
      : slots_(order),
        actions_(order.actions.data()),
        stages_(work.stages.data()),
        ranks_(work.ranks.data()),
        done_(work.done.data()),
        ready_(work.ready),
        out_(out),
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
    state.waits_for = -1;
    double busy = 0, held = 0;
    for (; state.next < state.end; ++state.next) {
      const Action action = actions_[state.next];
      const EngineStage& stage = stages_[action.stage];
      const int direction = action.kind == ActionKind::forward ? ahead : back;
      const std::int64_t own = slots_.at(direction, action.stage, action.micro_batch);
      const bool weights = action.kind == ActionKind::weight_grad;
      double input = 0;
      const std::int64_t missing = find_input(action, stage, direction, own, input);
      if (missing >= 0) {
        state.waits_for = missing;
        break;
      }
      const int peer = weights ? -1 : stage.peer[direction];
      const double start = start_of(state, peer, input, stage.hop[direction], held);
      const double duration = stage.duration[static_cast<int>(action.kind)];
      state.free = start + duration;
      busy += duration;
      out_.start[state.next] = Seconds(start);
      out_.end[state.next] = Seconds(state.free);
      if (weights) {
        state.send = 0;
        state.send_peer = -1;
        continue;
      }
      done_[own] = state.free;
      hand_on(stage, direction, own, rank, state);
    }
    ranks_[rank] = state;
    out_.busy[rank] += Seconds(busy);
    if constexpr (blocking) out_.hop_wait[rank] += Seconds(held);
  }

  /// The slot of an input that is not there, or -1 and the end of the input from another stage.
  std::int64_t find_input(const Action& action, const EngineStage& stage, int direction, std::int64_t own,
                          double& input) const {
    if (action.kind == ActionKind::weight_grad) return done_[own] < 0 ? own : -1;
    if (direction == back) {
      const std::int64_t forward = slots_.at(ahead, action.stage, action.micro_batch);
      if (done_[forward] < 0) return forward;
    }
    if (stage.from[direction] < 0) return -1;
    const std::int64_t from = slots_.at(direction, stage.from[direction], action.micro_batch);
    input = done_[from];
    return input < 0 ? from : -1;
  }

  /// See the rules for hops in engine.h.
  double start_of(const EngineRank& state, int peer, double input, double hop, double& held) const {
    if constexpr (!blocking) return std::max(state.free, input + hop);
    const double sent = state.free + state.send;
    if (peer < 0) {
      held += state.send;
      return sent;
    }
    const bool together = batches_always_ || peer == state.send_peer;
    const double begins = std::max(together ? state.free : sent, input);
    const double start = std::max(sent, begins + hop);
    held += begins >= sent ? state.send + hop : start - state.free;
    return start;
  }

  /// Leaves the result to its taker, who may be waiting for it.
  void hand_on(const EngineStage& stage, int direction, std::int64_t own, std::int32_t rank, EngineRank& state) {
    const std::int32_t taker = stage.to[direction];
    if constexpr (blocking) {
      state.send = stage.hop_out[direction];
      state.send_peer = taker == rank ? -1 : taker;
    }
    if (taker >= 0 && ranks_[taker].waits_for == own && taker != rank) {
      ranks_[taker].waits_for = -1;
      ready_.push_back(taker);
    }
  }

  Slots slots_;
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

void summarise(const Order& order, Timeline& out) {
  out.makespan = out.span = Seconds();
  for (int rank = 0; rank < order.ranks; ++rank) {
    const std::int32_t first = order.begin[rank], last = order.begin[rank + 1] - 1;
    if (last < first) continue;
    out.makespan = std::max(out.makespan, out.end[last]);
    out.span = std::max(out.span, out.end[last] - out.start[first]);
  }
}

bool finished(const EngineWorkspace& work) {
  return std::all_of(work.ranks.begin(), work.ranks.end(),
                     [](const EngineRank& rank) { return rank.next == rank.end; });
}

}  // namespace
}  // namespace engine

double Timeline::bubble_fraction() const {
  Seconds total;
  for (const Seconds rank : busy) total += rank;
  const Seconds room = static_cast<double>(busy.size()) * makespan;
  return room > Seconds() ? 1 - total / room : 0;
}

Expected<void> run(const Order& order, const StageTimes& times, Timeline& out, EngineWorkspace& workspace) {
  engine::gather_stages(order, times, workspace);
  engine::prepare(order, out, workspace);
  if (times.blocking_hops) {
    engine::Loop<true>(order, out, workspace).run_all();
  } else {
    engine::Loop<false>(order, out, workspace).run_all();
  }
  if (!engine::finished(workspace)) return tl::unexpected(engine::name_deadlock(order, workspace));
  engine::summarise(order, out);
  engine::count_in_flight(order, out);
  return {};
}

Expected<Timeline> run(const Order& order, const StageTimes& times) {
  Timeline timeline;
  EngineWorkspace workspace;
  if (auto ok = run(order, times, timeline, workspace); !ok) return tl::unexpected(ok.error());
  return timeline;
}

}  // namespace stepcast
