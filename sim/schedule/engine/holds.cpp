#include "sim/schedule/engine/holds.h"

#include <algorithm>

#include "sim/schedule/engine/engine_parts.h"

namespace stepcast::sim {
namespace {

/// Walks a rank's actions again with the times they ran at.
class HoldWalk {
 public:
  HoldWalk(const Order& order, const StageTimes& times, const Timeline& timeline)
      : order_(order), timeline_(timeline), batches_always_(order.chunks > 1) {
    engine::gather_stages(order, times, room_);
    ends_.assign(std::size_t{2} * order.stages() * order.units(), 0.0);
    for (std::size_t i = 0; i < order.actions.size(); ++i) {
      const Action& action = order.actions[i];
      if (action.kind != ActionKind::weight_grad)
        end_of(direction_of(action), action.stage, action.micro_batch) = timeline.end[i].value();
    }
  }

  std::vector<HopHold> of_rank(int rank) {
    holds_.clear();
    free_ = send_ = 0;
    peer_ = nobody;
    for (std::int32_t i = order_.begin[rank]; i < order_.begin[rank + 1];) {
      const int together = order_.actions[i].with_next ? 2 : 1;
      receive(i, together);
      hand_on(rank, i, together);
      i += together;
    }
    return holds_;
  }

 private:
  static constexpr int nobody = -1, pair_peers = -2;
  struct Receive {
    double begins, hop;
  };

  static int direction_of(const Action& action) {
    return action.kind == ActionKind::forward ? engine::ahead : engine::back;
  }
  double& end_of(int direction, int stage, int unit) {
    return ends_[(static_cast<std::size_t>(direction) * order_.stages() + stage) * order_.units() + unit];
  }

  void receive(std::int32_t first, int together) {
    hold(free_, free_ + send_);
    std::vector<Receive> receives;
    for (std::int32_t i = first; i < first + together; ++i) {
      const Action& action = order_.actions[i];
      const int direction = direction_of(action);
      const EngineStage& stage = room_.stages[action.stage];
      if (action.kind == ActionKind::weight_grad || stage.peer[direction] < 0) continue;
      const bool batched = together == 2 || batches_always_ || stage.peer[direction] == peer_ || peer_ == pair_peers;
      const double input = end_of(direction, stage.from[direction], action.micro_batch);
      receives.push_back({std::max(batched ? free_ : free_ + send_, input), stage.hop[direction]});
    }
    std::sort(receives.begin(), receives.end(),
        [](const Receive& one, const Receive& other) { return one.begins < other.begins; });
    for (const Receive& one : receives) hold(one.begins, one.begins + one.hop);
  }

  /// What is held already is not held twice.
  void hold(double from, double until) {
    if (!holds_.empty()) from = std::max(from, holds_.back().end);
    if (until <= from) return;
    if (!holds_.empty() && holds_.back().end == from) holds_.back().end = until;
    else holds_.push_back({from, until});
  }

  void hand_on(int rank, std::int32_t first, int together) {
    free_ = timeline_.end[first].value();
    send_ = 0;
    peer_ = nobody;
    for (std::int32_t i = first; i < first + together; ++i) {
      const Action& action = order_.actions[i];
      if (action.kind == ActionKind::weight_grad) continue;
      const int direction = direction_of(action);
      const EngineStage& stage = room_.stages[action.stage];
      send_ = std::max(send_, stage.hop_out[direction]);
      peer_ = stage.to[direction] == rank ? nobody : stage.to[direction];
    }
    if (together == 2) peer_ = pair_peers;
  }

  const Order& order_;
  const Timeline& timeline_;
  bool batches_always_;
  EngineWorkspace room_;
  std::vector<double> ends_;  ///< by direction, stage and unit
  std::vector<HopHold> holds_;
  double free_ = 0, send_ = 0;
  int peer_ = nobody;
};

}  // namespace

std::vector<std::vector<HopHold>> hop_holds(const Order& order, const StageTimes& times, const Timeline& timeline) {
  std::vector<std::vector<HopHold>> holds(static_cast<std::size_t>(order.ranks));
  if (!times.blocking_hops) return holds;
  HoldWalk walk(order, times, timeline);
  for (int rank = 0; rank < order.ranks; ++rank) holds[rank] = walk.of_rank(rank);
  return holds;
}

}  // namespace stepcast::sim
