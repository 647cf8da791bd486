#include "sim/schedule/search/greedy_rounds.h"

#include <algorithm>

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;

class PlainRounds {
 public:
  PlainRounds(const Problem& problem, const RoundRule& rule)
      : problem_(problem), rule_(rule), board_(problem), ranks_(problem.ranks()) {}

  Layout lay_out() {
    warm_up();
    std::vector<bool> goes(static_cast<std::size_t>(ranks_));
    for (int round = 1; round < problem_.units(); ++round) {
      for (int r = 0; r < ranks_; ++r) goes[r] = wants_forward(r);
      for (int r = ranks_ - 2; r >= 0; --r) goes[r] = goes[r] && goes[r + 1];
      for (int r = 0; r < ranks_; ++r) {
        if (goes[r]) put_forward(r);
      }
      for (int r = ranks_ - 1; r >= 0; --r) put_input_grad(r);
    }
    for (int r = 0; r < ranks_; ++r) board_.put_all_weights(r);
    return board_.take();
  }

 private:
  /// The first forward everywhere, as many more as fit before the first input gradient returns, and that.
  void warm_up() {
    for (int r = 0; r < ranks_; ++r) board_.put(forward, r);
    std::vector<int> more(static_cast<std::size_t>(ranks_), 0);
    double done = board_.now(ranks_ - 1) + problem_.time(input_grad, ranks_ - 1);
    for (int r = ranks_ - 2; r >= 0; --r) {
      const double returns = done + problem_.hop;
      const double one = problem_.time(forward, r);
      double now = board_.now(r);
      while (1 + more[r] < std::min(problem_.units(), problem_.cap) &&
             (rule_.wait_before_first_input_grad ? now + one <= returns : now < returns)) {
        now += one;
        ++more[r];
      }
      done = std::max(now, returns) + problem_.time(input_grad, r);
    }
    for (int r = 1; r < ranks_; ++r) {
      const int most = more[r - 1] + 1 < problem_.units() ? more[r - 1] - 1 : more[r - 1];
      more[r] = std::min(more[r], std::max(0, most));
    }
    for (int r = 0; r < ranks_; ++r) {
      for (int i = 0; i < more[r]; ++i) board_.put(forward, r);
    }
    for (int r = ranks_ - 1; r >= 0; --r) board_.put(input_grad, r);
  }

  bool wants_forward(int r) const {
    if (board_.all_put(forward, r)) return false;
    const bool ahead_of_next = r + 1 < ranks_ && board_.count(forward, r) >= board_.count(forward, r + 1) + 2;
    if (!rule_.prefer_input_grad || !ahead_of_next) return true;
    const double returns =
        board_.now(r + 1) + problem_.time(forward, r + 1) + problem_.time(input_grad, r + 1) + problem_.hop;
    if (board_.now(r) >= returns) return false;
    const double room = board_.time_to_room(r).value_or(0);
    if (board_.now(r) + problem_.time(forward, r) + room <= returns) return true;
    return returns - board_.now(r) > board_.most_idle() - board_.idle(r);
  }

  /// Weight gradients up to `until`; one more that delays what comes then, unless the rank may still idle as the worst.
  void fill_gap(int r, double until) {
    board_.fill(r, until);
    if (!board_.weight_pending(r) || board_.now(r) >= until) return;
    const bool may_idle = until - board_.now(r) <= board_.most_idle() - board_.idle(r);
    if (!may_idle || rule_.fill_forward) board_.put_weight(r);
  }

  void put_forward(int r) {
    board_.make_room(r);
    if (r > 0) fill_gap(r, board_.input(forward, r));
    board_.put(forward, r);
  }

  void put_input_grad(int r) {
    if (r + 1 < ranks_) fill_gap(r, board_.input(input_grad, r));
    if (r == 0 && board_.all_put(forward, 0)) board_.put_all_weights(0);
    board_.put(input_grad, r);
  }

  const Problem& problem_;
  RoundRule rule_;
  Board board_;
  int ranks_;
};

}  // namespace

Layout rounds_plain(const Problem& problem, const RoundRule& rule) { return PlainRounds(problem, rule).lay_out(); }

}  // namespace stepcast::sim::greedy
