#include <algorithm>

#include "sim/schedule/search/greedy_rounds.h"

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;

/// near: stage r of rank r, on the way out; far: stage 2p-1-r, on the way back.
class VRounds {
 public:
  VRounds(const Problem& problem, const RoundRule& rule, const std::vector<double>& granted)
      : problem_(problem), rule_(rule), board_(problem), ranks_(problem.ranks()), granted_(granted) {
    for (const double idle : granted) most_granted_ = std::max(most_granted_, idle);
  }

  std::optional<Layout> lay_out() {
    if (problem_.cap < std::min(2, problem_.units() * 2)) return {};
    warm_up();
    even_out();
    for (int round = 0; round < 2 * problem_.units() && fits_; ++round) {
      put_input_grads();
      for (int r = 0; r < ranks_ && fits_; ++r) put_forward(r);
    }
    if (!fits_) return {};
    idle_.resize(static_cast<std::size_t>(ranks_));
    for (int r = 0; r < ranks_; ++r) {
      board_.put_all_weights(r);
      idle_[r] = board_.idle(r);
    }
    return complete() ? std::optional(board_.take()) : std::nullopt;
  }
  [[nodiscard]] const std::vector<double>& idle() const { return idle_; }

 private:
  [[nodiscard]] int near(int r) const { return r; }
  [[nodiscard]] int far(int r) const { return 2 * ranks_ - 1 - r; }
  [[nodiscard]] int units() const { return problem_.units(); }

  bool known(ActionKind kind, int stage) const {
    return !board_.all_put(kind, stage) && board_.input(kind, stage) < not_known;
  }

  /// Any forward; gives up where there is no room.
  void put_any_forward(int stage) {
    const int r = problem_.rank_of[stage];
    if (!board_.make_room(r) || !known(forward, stage)) {
      fits_ = false;
      return;
    }
    board_.put(forward, stage);
  }

  /// The first unit out and back. Ranks on the way back first take near forwards that fit before it comes.
  void warm_up() {
    for (int r = 0; r < ranks_; ++r) put_any_forward(near(r));
    for (int r = ranks_ - 1; r >= 0 && fits_; --r) {
      if (r < ranks_ - 1) {
        const double comes = board_.input(forward, far(r));
        const double one = problem_.time(forward, near(r));
        while (board_.count(forward, near(r)) + 2 + 2 * r <= problem_.cap && board_.now(r) + one <= comes &&
               !board_.all_put(forward, near(r)) && fits_) {
          for (int before = 0; before <= r && fits_; ++before) put_any_forward(near(before));
        }
      }
      if (fits_) put_any_forward(far(r));
    }
  }

  /// Each rank runs as many forwards as the rank before it has, near and far by turns, those below it too.
  void even_out() {
    bool take_far = false;
    for (int r = 1; r < ranks_ && fits_; ++r) {
      const auto behind = [&] {
        const int own_near = board_.count(forward, near(r)), own_far = board_.count(forward, far(r));
        const int up_near = board_.count(forward, near(r - 1)), up_far = board_.count(forward, far(r - 1));
        return own_near + own_far < up_near + up_far || (own_far <= up_far && up_far < units());
      };
      while (behind() && fits_) {
        for (int below = ranks_ - 1; below >= r && fits_; --below) {
          const int stage = take_far ? far(below) : near(below);
          if (!board_.all_put(forward, stage)) put_any_forward(stage);
        }
        take_far = !take_far;
      }
    }
  }

  /// Near ones that can run, from the last rank on; far ones elsewhere.
  void put_input_grads() {
    std::vector<int> far_ranks;
    std::vector<int> near_ranks;
    for (int r = 0; r < ranks_; ++r) {
      const bool behind = board_.count(input_grad, near(r)) < board_.count(input_grad, far(r));
      const bool comes = r == ranks_ - 1 || known(input_grad, near(r)) || board_.all_put(input_grad, far(r));
      (behind && comes ? near_ranks : far_ranks).push_back(r);
    }
    std::reverse(near_ranks.begin(), near_ranks.end());
    for (const int r : near_ranks) put_input_grad(r, near(r), true);
    for (const int r : far_ranks) put_input_grad(r, far(r), rule_.fill_backward);
  }

  void put_input_grad(int r, int stage, bool delays) {
    const bool open = board_.count(input_grad, stage) < board_.count(forward, stage);
    if (!fits_ || !open || !known(input_grad, stage)) return;
    fill_gap(r, board_.input(input_grad, stage), delays);
    board_.put(input_grad, stage);
  }

  void put_forward(int r) {
    const bool far_ready = board_.count(forward, far(r)) < board_.count(forward, near(r)) && known(forward, far(r));
    const int stage = far_ready ? far(r) : near(r);
    if (!known(forward, stage)) return;
    if (!board_.make_room(r)) {
      fits_ = false;
      return;
    }
    fill_gap(r, board_.input(forward, stage), rule_.fill_forward);
    board_.put(forward, stage);
  }

  void fill_gap(int r, double until, bool delays) {
    board_.fill(r, until);
    if (!board_.weight_pending(r)) return;
    const double worst = std::max(board_.most_idle(), granted_.empty() ? 0 : most_granted_ - granted_[r]);
    if (until - board_.now(r) > worst - board_.idle(r) && delays) board_.put_weight(r);
  }

  [[nodiscard]] bool complete() const {
    for (int s = 0; s < 2 * ranks_; ++s) {
      if (!board_.all_put(weight_grad, s)) return false;
    }
    return true;
  }

  const Problem& problem_;
  RoundRule rule_;
  Board board_;
  int ranks_;
  std::vector<double> granted_, idle_;
  double most_granted_ = 0;
  bool fits_ = true;
};

}  // namespace

std::optional<Layout> rounds_v(const Problem& problem, const RoundRule& rule) {
  VRounds first(problem, rule, {});
  std::optional<Layout> best = first.lay_out();
  std::vector<double> granted = first.idle();
  // A rank that had to idle leaves others that much: again with what each had, as long as it helps.
  for (bool better = best.has_value(); better;) {
    VRounds again(problem, rule, granted);
    std::optional<Layout> layout = again.lay_out();
    better = layout && layout->span < best->span;
    if (better) best = std::move(layout);
    granted = again.idle();
  }
  return best;
}

}  // namespace stepcast::sim::greedy
