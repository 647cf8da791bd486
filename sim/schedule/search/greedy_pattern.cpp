#include "sim/schedule/search/greedy_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;
constexpr double rounding_error = 1e-9;

/// What one rank does within a period: disjoint pieces of a circle.
class Circle {
 public:
  explicit Circle(double period) : period_(period) {}

  /// The first moment from `ready` on at which `length` fits; negative if none does.
  double place(double ready, double length) {
    if (length <= 0) return ready;
    double at = ready;
    for (int tries = 0; tries <= 2 * count_ + 1; ++tries) {
      const double blocked = blocked_until(at, length);
      if (blocked < 0) {
        taken_[count_++] = {std::fmod(at, period_), length};
        return at;
      }
      at = blocked;
      if (at - ready > 2 * period_) break;
    }
    return -1;
  }
  [[nodiscard]] bool has_room() const { return count_ < most; }

 private:
  static constexpr int most = 48;
  struct Piece {
    double start = 0, length = 0;
  };

  /// Until when a piece at `at` would lie over another; negative if it does not.
  [[nodiscard]] double blocked_until(double at, double length) const {
    if (length > period_) return at + 3 * period_;
    for (int i = 0; i < count_; ++i) {
      double gap = std::fmod(at - taken_[i].start, period_);
      if (gap < 0) gap += period_;
      const double slack = rounding_error * period_;
      if (gap > period_ - slack) gap = 0;
      if (gap < taken_[i].length - slack) return at + taken_[i].length - gap;
      if (gap + length > period_ + slack) return at + (period_ - gap) + taken_[i].length;
    }
    return -1;
  }

  double period_;
  std::array<Piece, most> taken_;
  int count_ = 0;
};

class Layer {
 public:
  Layer(const Problem& problem, const PatternRule& rule)
      : problem_(problem), rule_(rule), circles_(static_cast<std::size_t>(problem.ranks()), Circle(rule.period)) {
    pattern_.period = rule.period;
    for (auto& start : pattern_.start) start.assign(static_cast<std::size_t>(problem.stages()), 0);
  }

  std::optional<Pattern> lay() {
    const int stages = problem_.stages();
    double now = 0;
    for (int s = 0; s < stages; ++s) {
      if (!step(forward, s, s, s > 0 ? s - 1 : -1, now)) return {};
    }
    for (int s = stages - 1; s >= 0; --s) {
      if (!step(input_grad, s, 2 * stages - 1 - s, s + 1 < stages ? s + 1 : -1, now)) return {};
    }
    for (int s = stages - 1; s >= 0; --s) {
      double ready = pattern_.start[static_cast<int>(input_grad)][s] + problem_.time(input_grad, s);
      if (!put(weight_grad, s, ready)) return {};
    }
    for (int r = 0; r < problem_.ranks(); ++r) pattern_.peak.push_back(peak(r));
    return std::move(pattern_);
  }

 private:
  /// The `step_no`-th action on the unit's way, handed on by stage `from`; `now` goes to its end.
  bool step(ActionKind kind, int stage, int step_no, int from, double& now) {
    if (from >= 0 && problem_.rank_of[from] != problem_.rank_of[stage]) now += problem_.hop;
    now += rule_.wait[step_no];
    return put(kind, stage, now);
  }

  bool put(ActionKind kind, int stage, double& now) {
    Circle& circle = circles_[problem_.rank_of[stage]];
    if (!circle.has_room()) return false;
    const double at = circle.place(now, problem_.time(kind, stage));
    if (at < 0) return false;
    pattern_.start[static_cast<int>(kind)][stage] = at;
    now = at + problem_.time(kind, stage);
    return true;
  }

  /// Each stage always holds its whole periods; the rest of its time overlaps with that of others.
  int peak(int rank) {
    int always = 0, most = 0;
    struct Change {
      double at;
      int by;
    };
    std::vector<Change> changes;
    int now = 0;
    for (const int s : problem_.stages_of[rank]) {
      const double from = pattern_.start[static_cast<int>(forward)][s];
      const double until = pattern_.start[static_cast<int>(weight_grad)][s] + problem_.time(weight_grad, s);
      pattern_.life += until - from;
      const double life = until - from, slack = rounding_error * rule_.period;
      const double whole = std::floor((life + slack) / rule_.period);
      always += static_cast<int>(whole);
      if (life - whole * rule_.period <= slack) continue;
      const double start = std::fmod(from, rule_.period);
      const double end = std::fmod(until - slack, rule_.period);
      changes.push_back({start, 1});
      changes.push_back({end, -1});
      if (end < start) ++now;
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
    most = now;
    for (const Change& change : changes) most = std::max(most, now += change.by);
    return always + most;
  }

  const Problem& problem_;
  const PatternRule& rule_;
  std::vector<Circle> circles_;
  Pattern pattern_;
};

}  // namespace

std::optional<Pattern> lay_pattern(const Problem& problem, const PatternRule& rule) {
  return Layer(problem, rule).lay();
}

namespace {

/// How far along its unit's way through the stages, there and back, an action is.
int way_position(const Problem& problem, const Action& action) {
  if (action.kind == forward) return action.stage;
  const int back = 2 * problem.stages() - 1 - action.stage;
  return action.kind == input_grad ? back : back + problem.stages();
}

struct Timed {
  double start;
  int position;
  Action action;
  /// Actions that take no time start together: then units go one after the other, each along its way.
  [[nodiscard]] auto key() const { return std::tuple(start, action.micro_batch, position); }
};

}  // namespace

Sequences unroll(const Problem& problem, const Pattern& pattern, bool with_weights) {
  Sequences sequences(static_cast<std::size_t>(problem.ranks()));
  std::vector<Timed> timed;
  for (std::size_t r = 0; r < sequences.size(); ++r) {
    timed.clear();
    for (const int s : problem.stages_of[r]) {
      for (const ActionKind kind : {forward, input_grad, weight_grad}) {
        if (kind == weight_grad && !with_weights) continue;
        const double start = pattern.start[static_cast<int>(kind)][s];
        const int position = way_position(problem, {kind, s, 0});
        for (int u = 0; u < problem.units(); ++u) timed.push_back({start + u * pattern.period, position, {kind, s, u}});
      }
    }
    std::sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) { return a.key() < b.key(); });
    for (const Timed& t : timed) sequences[r].push_back(t.action);
  }
  return sequences;
}

}  // namespace stepcast::sim::greedy
