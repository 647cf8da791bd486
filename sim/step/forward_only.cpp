#include "sim/step/forward_only.h"

#include <algorithm>

namespace stepcast::sim {
namespace {

constexpr double not_yet = -1;

class ForwardRun {
 public:
  ForwardRun(const Order& order, const StageTimes& times)
      : order_(order), times_(times), ends_(static_cast<std::size_t>(order.stages() * order.units()), not_yet),
        free_(static_cast<std::size_t>(order.ranks), 0.0), next_(free_.size(), 0) {}

  Seconds makespan() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < order_.ranks; ++rank) moved = run_rank(rank) || moved;
    }
    return Seconds(*std::ranges::max_element(ends_));
  }

 private:
  double& end(int stage, int unit) { return ends_[static_cast<std::size_t>(stage * order_.units() + unit)]; }
  [[nodiscard]] double hop(int from, int to) const {
    const auto at = static_cast<std::size_t>(from);
    const bool local = order_.rank_of[at] == order_.rank_of[static_cast<std::size_t>(to)];
    return local || times_.hop_forward.empty() ? 0 : times_.hop_forward[at].value();
  }

  /// As far as inputs are there.
  bool run_rank(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto actions = order_.of_rank(rank);
    const std::size_t begun = next_[r];
    for (; next_[r] < actions.size(); ++next_[r]) {
      const Action& action = actions[next_[r]];
      if (action.kind != ActionKind::forward) continue;
      const int stage = action.stage, unit = action.micro_batch, before = order_.before(stage);
      double start = free_[r];
      if (before >= 0) {
        if (end(before, unit) == not_yet) break;
        start = times_.blocking_hops ? std::max(start, end(before, unit)) + hop(before, stage)
                                     : std::max(start, end(before, unit) + hop(before, stage));
      }
      const auto at = static_cast<std::size_t>(stage * order_.units() + unit);
      const double time = times_.forward_each.empty() ? times_.forward[static_cast<std::size_t>(stage)].value()
                                                      : times_.forward_each[at];
      free_[r] = end(stage, unit) = start + time;
      if (times_.blocking_hops && order_.after(stage) >= 0) free_[r] += hop(stage, order_.after(stage));
    }
    return next_[r] > begun;
  }

  const Order& order_;
  const StageTimes& times_;
  std::vector<double> ends_, free_;
  std::vector<std::size_t> next_;
};

}  // namespace

Expected<Seconds> forward_only(const StepReport& step) {
  if (step.order.directions > 1)
    return fail("schedule", "how a batch is evaluated on stages that run both ways is not modelled",
        "a schedule of one direction: 1f1b");
  return ForwardRun(step.order, step.times).makespan();
}

}  // namespace stepcast::sim
