// Each rank alone, with what must pass before and after its own work. Three arguments, all valid whatever the order:
//
//  1. Windows. Before the first input gradient of a stage can start, a rank can only have done so much: it holds every
//     forward until its weight gradient, and nothing is freed yet. After the last input gradient of a stage at least
//     the way down to the first stage is left, and the rank only holds so many weight gradients to fill it with.
//     What does not fit into either window lies between them. This generalises the bound of the zero-bubble paper's
//     appendix B (Qi et al., arXiv 2401.10241) to any stages, placement and memory.
//  2. Area. A unit is held at least as long as it takes alone, so all units together take memory x time; a rank that
//     holds at most K reaches K only by K forwards, and comes down by K weight gradients (Little's law with its ends).
//  3. The way of a single unit.
#include "sim/schedule/bound/bound.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "sim/schedule/bound/bound_chains.h"

namespace stepcast::sim {
namespace {

using bounds::StageWay;

constexpr double boundless = std::numeric_limits<double>::infinity();

/// A count of actions of one length.
struct Portion {
  double each = 0, count = 0;
};

/// The most that `room` of these can last.
double longest(std::vector<Portion> portions, double room) {
  std::ranges::sort(portions, [](const Portion& a, const Portion& b) { return a.each > b.each; });
  double sum = 0;
  for (const Portion& portion : portions) {
    const double taken = std::min(room, portion.count);
    sum += portion.each * taken;
    room -= taken;
    if (room <= 0) break;
  }
  return sum;
}

/// At the start or the end of the step: how long it lasts, and how much work of the rank fits into it.
struct Window {
  double length = 0, work = 0;
};

class RankBound {
 public:
  RankBound(const std::vector<StageWay>& ways, int rank, double cap) {
    for (const StageWay& way : ways) {
      if (way.rank != rank) continue;
      own_.push_back(&way);
      work_ += way.work;
      units_ += way.units;
    }
    cap_ = cap > 0 ? std::min(std::floor(cap + 1e-9), units_) : units_;
  }

  /// The largest of the three.
  [[nodiscard]] double best() const {
    double best = std::max(by_windows(), by_area());
    for (const StageWay* way : own_) best = std::max(best, way->alone);
    return best;
  }

 private:
  [[nodiscard]] double head() const {
    double head = boundless;
    for (const StageWay* way : own_) head = std::min(head, way->forward_starts);
    return own_.empty() ? 0 : head;
  }

  /// Stages of the same direction on this rank that a unit has passed when it is through `way`, that one included.
  [[nodiscard]] int passed(const StageWay* way) const {
    return static_cast<int>(std::ranges::count_if(
        own_, [&](const StageWay* other) { return other->direction == way->direction && other <= way; }));
  }

  /// Up to the first input gradient of a stage. Stages whose first input gradient comes no earlier have run nothing but
  /// forwards, all still held. Later stages of the same direction may have run whole units, each of which is still held
  /// at the stages before; the other direction may have run any.
  [[nodiscard]] Window before(const StageWay* stage) const {
    Window window{stage->input_grad_starts, 0};
    std::vector<Portion> held;
    for (const StageWay* way : own_) {
      if (way->input_grad_starts >= stage->input_grad_starts) {
        held.push_back({way->most_forward, static_cast<double>(way->units)});
        continue;
      }
      const bool later = way->direction == stage->direction && way > stage;
      const double fits = later && cap_ < units_ ? std::floor((cap_ - 1) / passed(stage)) : units_;
      window.work +=
          std::min<double>(way->units, fits) * (way->most_forward + way->most_input_grad + way->most_weight_grad);
    }
    window.work += longest(held, cap_);
    return window;
  }

  /// From the last input gradient of a stage on: what is still held has its weight gradient left, and its input
  /// gradient at lower stages of the same direction; the other direction may have everything left.
  [[nodiscard]] Window after(const StageWay* stage) const {
    Window window{stage->after_input_grad, 0};
    std::vector<Portion> held;
    for (const StageWay* way : own_) {
      const auto units = static_cast<double>(way->units);
      if (way->direction != stage->direction) {
        window.work += way->work;
      } else if (way < stage) {
        held.push_back({way->most_input_grad + way->most_weight_grad, units});
      } else {
        held.push_back({way->most_weight_grad, units});
      }
    }
    window.work += longest(held, cap_);
    return window;
  }

  [[nodiscard]] double by_windows() const {
    std::vector<Window> starts = {{head(), 0}}, ends = {{0, 0}};
    for (const StageWay* way : own_) starts.push_back(before(way));
    for (const StageWay* way : own_) ends.push_back(after(way));
    double best = 0;
    for (const Window& start : starts) {
      for (const Window& end : ends) {
        // Windows that can hold all work might overlap, and then say nothing.
        if (start.work + end.work >= work_ * (1 - 1e-12)) continue;
        best = std::max(best, start.length + end.length + work_ - start.work - end.work);
      }
    }
    return best;
  }

  [[nodiscard]] double by_area() const {
    if (own_.empty()) return 0;
    double area = 0, up = boundless, down = boundless;
    for (const StageWay* way : own_) {
      area += way->life * way->units;
      up = std::min(up, way->least_forward);
      down = std::min(down, way->least_weight_grad);
    }
    return head() + area / cap_ + (up + down) * (cap_ - 1) / 2;
  }

  std::vector<const StageWay*> own_;
  double work_ = 0, units_ = 0, cap_ = 0;
};

double cap_of(const BoundProblem& problem, int rank) {
  return problem.memory_cap.empty() ? 0 : problem.memory_cap[rank];
}

}  // namespace

LowerBound lower_bound(const BoundProblem& problem, const StageTimes& times) {
  assert(problem.rank_of.size() == static_cast<std::size_t>(problem.stages));
  const auto ways = bounds::stage_ways(problem, times);
  const auto own_ways = bounds::ways_within_rank(problem, times);
  LowerBound bound;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const Seconds makespan(RankBound(ways, rank, cap_of(problem, rank)).best());
    const Seconds span(RankBound(own_ways, rank, cap_of(problem, rank)).best());
    if (makespan > bound.makespan) {
      bound.makespan = makespan;
      bound.rank = rank;
    }
    bound.span = std::max(bound.span, span);
  }
  return bound;
}

}  // namespace stepcast::sim
