#include "sim/schedule/search/greedy_dispatch.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;

/// What a rank would do next.
struct Candidate {
  double start = not_known, key = not_known;
  ActionKind kind = forward;
  int stage = -1;
};

class Dispatcher {
 public:
  Dispatcher(const Problem& problem, const DispatchRule& rule, double limit)
      : problem_(problem), rule_(rule), limit_(limit), board_(problem),
        candidates_(static_cast<std::size_t>(problem.ranks())) {}

  std::optional<Layout> lay_out() {
    for (int r = 0; r < problem_.ranks(); ++r) choose(r);
    for (int left = 2 * problem_.stages() * problem_.units(); left > 0; --left) {
      const auto next = std::min_element(candidates_.begin(), candidates_.end(),
          [](const Candidate& a, const Candidate& b) { return a.start < b.start; });
      if (next->stage < 0 || next->start > limit_) return {};
      place(static_cast<int>(next - candidates_.begin()), *next);
    }
    for (int r = 0; r < problem_.ranks(); ++r) board_.put_all_weights(r);
    return board_.take();
  }

 private:
  void place(int rank, Candidate choice) {
    if (choice.kind == forward) board_.make_room(rank);
    fill_gap(rank, choice.start);
    board_.put(choice.kind, choice.stage);
    choose(rank);
    const int to = choice.kind == forward ? choice.stage + 1 : choice.stage - 1;
    if (to >= 0 && to < problem_.stages() && problem_.rank_of[to] != rank) choose(problem_.rank_of[to]);
  }

  void fill_gap(int rank, double until) {
    board_.fill(rank, until);
    const double gap = until - board_.now(rank);
    if (gap <= 0 || !board_.weight_pending(rank) || board_.start(rank) < 0) return;
    if (board_.idle(rank) + gap > rule_.idle_allowed) board_.put_weight(rank);
  }

  void choose(int rank) {
    Candidate best;
    for (const int stage : problem_.stages_of[rank]) {
      consider(rank, input_grad, stage, best);
      consider(rank, forward, stage, best);
    }
    candidates_[rank] = best;
  }

  void consider(int rank, ActionKind kind, int stage, Candidate& best) const {
    if (board_.all_put(kind, stage)) return;
    double input = board_.input(kind, stage);
    if (input >= not_known) return;
    if (kind == forward && stage == 0) input = board_.count(forward, 0) * rule_.pace;
    double ready = board_.now(rank);
    if (kind == forward) {
      if (board_.count(forward, stage) - board_.count(input_grad, stage) >= rule_.in_flight[stage]) return;
      const auto room = board_.time_to_room(rank);
      if (!room) return;
      ready += *room;
    }
    const double start = std::max(ready, input);
    const double key = kind == forward ? start + rule_.patience : start;
    const bool ties = key == best.key && best.kind == forward && rule_.far_first == (stage > best.stage);
    if (key < best.key || ties) best = {start, key, kind, stage};
  }

  const Problem& problem_;
  const DispatchRule& rule_;
  double limit_;
  Board board_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::optional<Layout> dispatch(const Problem& problem, const DispatchRule& rule, double limit) {
  return Dispatcher(problem, rule, limit).lay_out();
}

std::vector<int> shared_limits(const Problem& problem, double squeeze) {
  const auto stages = static_cast<std::size_t>(problem.stages());
  std::vector<double> life(stages);
  double passed = 0;
  for (int s = problem.stages() - 1; s >= 0; --s) {
    passed += problem.time(forward, s) + problem.time(input_grad, s) + 2 * problem.hop;
    life[s] = passed;
  }
  std::vector<int> limits(stages, problem.units());
  for (const auto& own : problem.stages_of) {
    const int all_units = problem.units() * static_cast<int>(own.size());
    double all = 0;
    for (const int s : own) all += life[s];
    for (std::size_t i = 0; i < own.size(); ++i) {
      const int later = static_cast<int>(own.size() - 1 - i);  // each later stage needs room to let a unit return
      // Where nothing takes time, no unit returns later than another.
      const double part = all > 0 ? life[own[i]] / all : 1.0 / static_cast<double>(own.size());
      const int share = static_cast<int>(std::lround(squeeze * std::min(problem.cap, all_units) * part));
      limits[own[i]] = std::clamp(share, 1, std::max(1, problem.cap - later));
    }
  }
  return limits;
}

}  // namespace stepcast::sim::greedy
