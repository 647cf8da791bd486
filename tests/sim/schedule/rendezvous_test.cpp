// Blocking hops against a rendezvous: here a send also waits for its receiver, as a large NCCL message does. For 1F1B
// this changes no makespan: a sender that waits for a late receiver would wait for that receiver's gradient anyway.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::rendezvous_test {
namespace {

/// A message between ranks and when either side was ready for it.
using Message = std::tuple<ActionKind, int, int, int>;  // kind of result, micro-batch, from, to

/// What a rank does in turn: one action, or one exchange of one or two messages.
struct Turn {
  double compute = 0;
  std::vector<Message> messages;
};

/// One stage per rank: send each result up or down, receive each input; both at once with the same peer.
std::vector<Turn> turns_of(const Order& order, const StageTimes& times, int rank) {
  std::vector<Turn> turns;
  std::vector<Message> unsent;
  for (const Action& a : order.of_rank(rank)) {
    const bool up = a.kind == ActionKind::forward;
    const int from = up ? rank - 1 : rank + 1, to = up ? rank + 1 : rank - 1;
    const bool exchange = !unsent.empty() && std::get<3>(unsent[0]) == from;
    if (!unsent.empty() && !exchange) turns.push_back({0, unsent});
    if (from >= 0 && from < order.ranks) {
      std::vector<Message> messages = {{a.kind, a.micro_batch, from, rank}};
      if (exchange) messages.push_back(unsent[0]);
      turns.push_back({0, messages});
    }
    const double backward = (times.input_grad[rank] + times.weight_grad[rank]).value();
    turns.push_back({up ? times.forward[rank].value() : backward, {}});
    unsent.clear();
    if (to >= 0 && to < order.ranks) unsent = {{a.kind, a.micro_batch, rank, to}};
  }
  if (!unsent.empty()) turns.push_back({0, unsent});
  return turns;
}

class Rendezvous {
 public:
  Rendezvous(const Order& order, const StageTimes& times) : hop_(times.hop_forward[0].value()) {
    for (int rank = 0; rank < order.ranks; ++rank) turns_.push_back(turns_of(order, times, rank));
    next_.assign(turns_.size(), 0);
    clock_.assign(turns_.size(), 0.0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < turns_.size(); ++rank) moved = go_on(rank) || moved;
    }
  }
  bool finished() const {
    for (std::size_t rank = 0; rank < turns_.size(); ++rank) {
      if (next_[rank] < turns_[rank].size()) return false;
    }
    return true;
  }
  double makespan() const { return makespan_; }

 private:
  bool go_on(std::size_t rank) {
    bool moved = false;
    for (; next_[rank] < turns_[rank].size(); ++next_[rank]) {
      const Turn& turn = turns_[rank][next_[rank]];
      double end = clock_[rank] + turn.compute;
      bool both_there = true;
      for (const Message& message : turn.messages) {
        moved = ready_[message].emplace(rank, clock_[rank]).second || moved;
        both_there = both_there && ready_[message].size() == 2;
        for (const auto& [side, since] : ready_[message]) end = std::max(end, since + hop_);
      }
      if (!both_there) return moved;
      clock_[rank] = end;
      if (turn.messages.empty()) makespan_ = std::max(makespan_, end);
      moved = true;
    }
    return moved;
  }

  double hop_, makespan_ = 0;
  std::vector<std::vector<Turn>> turns_;
  std::vector<std::size_t> next_;
  std::vector<double> clock_;
  std::map<Message, std::map<std::size_t, double>> ready_;
};

/// Eighths of a second, so that sums are exact.
StageTimes uneven_times(std::mt19937& random, int stages) {
  StageTimes times = pipelines::equal_times(stages, 1, 1, 1, (1 + random() % 24) / 8.0, true);
  for (int s = 0; s < stages; ++s) {
    times.forward[s] = Seconds((1 + random() % 16) / 8.0);
    times.input_grad[s] = Seconds((1 + random() % 16) / 8.0);
  }
  return times;
}

TEST(Rendezvous, ChangesNoMakespanOfOneFOneB) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    const int p = 2 + static_cast<int>(random() % 7), m = 1 + static_cast<int>(random() % 24);
    const Order order = pipelines::order_of("1f1b", {.ranks = p, .micro_batches = m});
    const StageTimes times = uneven_times(random, p);
    const Rendezvous rendezvous(order, times);
    ASSERT_TRUE(rendezvous.finished());
    ASSERT_EQ(pipelines::timeline_of(order, times).makespan.value(), rendezvous.makespan()) << "p=" << p << " m=" << m;
  }
}

}  // namespace
}  // namespace stepcast::sim::rendezvous_test
