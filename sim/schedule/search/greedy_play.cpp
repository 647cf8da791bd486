#include "sim/schedule/search/greedy_play.h"

#include <algorithm>

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;

class Player {
 public:
  Player(const Problem& problem, const Sequences& sequences, const PlayRule& rule, double limit)
      : problem_(problem), sequences_(sequences), rule_(rule), limit_(limit), board_(problem),
        next_(sequences.size(), 0) {}

  std::optional<Layout> lay_out() {
    bool goes_on = true;
    while (goes_on && fits_) {
      goes_on = false;
      // Up and down by turns, so that a sweep carries a unit through many ranks.
      for (int r = 0; r < problem_.ranks(); ++r) goes_on |= advance(r);
      for (int r = problem_.ranks() - 1; r >= 0; --r) goes_on |= advance(r);
    }
    for (int r = 0; r < problem_.ranks(); ++r) {
      if (!fits_ || next_[r] < sequences_[r].size()) return {};
      board_.put_all_weights(r);
      if (board_.now(r) > limit_) return {};
    }
    return board_.take();
  }

 private:
  bool advance(int rank) {
    const auto& sequence = sequences_[rank];
    const std::size_t before = next_[rank];
    while (next_[rank] < sequence.size() && fits_) {
      const Action& action = sequence[next_[rank]];
      if (action.kind == weight_grad) {
        board_.put_weight(rank);
      } else {
        const double input = board_.input(action.kind, action.stage);
        if (input >= not_known) break;
        if (!prepare(rank, action.kind, input)) break;
        board_.put(action.kind, action.stage);
      }
      ++next_[rank];
      if (board_.now(rank) > limit_) fits_ = false;
    }
    return next_[rank] > before;
  }

  /// Weight gradients that come before the action. False, for good, if there is no room for a forward.
  bool prepare(int rank, ActionKind kind, double input) {
    if (kind == forward && (rule_.fill ? !board_.make_room(rank) : board_.full(rank))) {
      fits_ = false;
      return false;
    }
    if (!rule_.fill) return true;
    board_.fill(rank, input);
    const double gap = input - board_.now(rank);
    const bool delays = gap > 0 && board_.weight_pending(rank) && board_.idle(rank) + gap > rule_.idle_allowed;
    if (delays) board_.put_weight(rank);
    return true;
  }

  const Problem& problem_;
  const Sequences& sequences_;
  PlayRule rule_;
  double limit_;
  Board board_;
  std::vector<std::size_t> next_;
  bool fits_ = true;
};

}  // namespace

std::optional<Layout> play(const Problem& problem, const Sequences& sequences, const PlayRule& rule, double limit) {
  return Player(problem, sequences, rule, limit).lay_out();
}

Sequences without_weights(const Layout& layout) {
  Sequences sequences = layout.ranks;
  for (auto& rank : sequences) {
    rank.erase(
        std::remove_if(rank.begin(), rank.end(), [](const Action& a) { return a.kind == weight_grad; }), rank.end());
  }
  return sequences;
}

}  // namespace stepcast::sim::greedy
