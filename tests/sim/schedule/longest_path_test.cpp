// The engine against the timing rules written down literally: all starts begin at 0 and are raised until every rule
// holds. Slow and simple on purpose.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::longest_path_test {
namespace {

using enum ActionKind;
using pipelines::timeline_of;

/// Starts and ends by (kind of result, stage, unit): 'F', or 'G' for the gradient that goes on.
class LiteralRules {
 public:
  LiteralRules(const Order& order, const StageTimes& times) : order_(order), times_(times) {
    for (const Action& a : order.actions) {
      if (a.kind != weight_grad) end_[key(a)] = 0;
    }
    starts_.assign(order.actions.size(), 0.0);
    while (raise()) {
    }
  }

  const std::vector<double>& starts() const { return starts_; }
  double work_of(int rank) const {
    double work = 0;
    for (const Turn& turn : turns_of(rank)) work += duration(turn);
    return work;
  }

 private:
  using Key = std::tuple<char, int, int>;
  using Turn = std::vector<Action>;  ///< one action, or a pair that runs at once
  static Key key(const Action& a) { return {a.kind == forward ? 'F' : 'G', a.stage, a.micro_batch}; }

  std::vector<Turn> turns_of(int rank) const {
    std::vector<Turn> turns;
    bool joins = false;
    for (const Action& a : order_.of_rank(rank)) {
      if (!joins) turns.emplace_back();
      turns.back().push_back(a);
      joins = a.with_next;
    }
    return turns;
  }

  double part(const std::vector<Seconds>& stage, const std::vector<double>& each, const Action& a) const {
    const int rank = order_.rank_of[a.stage];
    const double slowdown = times_.rank_slowdown.empty() ? 1 : times_.rank_slowdown[rank];
    return slowdown * (each.empty() ? stage[a.stage].value() : each[a.stage * order_.units() + a.micro_batch]);
  }
  double duration(const Turn& turn) const {
    double sum = 0;
    for (const Action& a : turn) {
      if (a.kind == forward) sum += part(times_.forward, times_.forward_each, a);
      if (a.kind == backward || a.kind == input_grad) sum += part(times_.input_grad, times_.input_grad_each, a);
      if (a.kind == backward || a.kind == weight_grad) sum += part(times_.weight_grad, times_.weight_grad_each, a);
    }
    return turn.size() == 2 ? times_.pair_factor * sum : sum;
  }

  /// Hop between a stage and its neighbour, and the neighbour's rank; {0, -1} where it stays on the rank or ends.
  std::pair<double, int> hop(int from, int to) const {
    if (from < 0 || to < 0 || order_.rank_of[from] == order_.rank_of[to]) return {0, -1};
    const auto& hops = from < to ? times_.hop_forward : times_.hop_backward;
    return {hops.empty() ? 0 : hops[std::min(from, to)].value(), order_.rank_of[to]};
  }
  int giver(const Action& a) const {
    if (a.kind == weight_grad) return -1;
    return a.kind == forward ? order_.before(a.stage) : order_.after(a.stage);
  }
  int taker(const Action& a) const {
    if (a.kind == weight_grad) return -1;
    return a.kind == forward ? order_.after(a.stage) : order_.before(a.stage);
  }

  double earliest(const Turn& turn, const Turn& before, double free) const {
    double sent = free;
    int send_peer = -1;
    for (const Action& a : before) {
      if (!times_.blocking_hops) break;
      const auto [time, peer] = hop(a.stage, taker(a));
      sent = std::max(sent, free + time);
      send_peer = peer;
    }
    const bool batched = order_.chunks > 1 || turn.size() == 2 || before.size() == 2;
    double start = sent;
    for (const Action& a : turn) {
      if (a.kind == weight_grad) start = std::max(start, end_.at({'G', a.stage, a.micro_batch}));
      if (a.kind == backward || a.kind == input_grad) start = std::max(start, end_.at({'F', a.stage, a.micro_batch}));
      const int from = giver(a);
      if (from < 0) continue;
      const double input = end_.at({a.kind == forward ? 'F' : 'G', from, a.micro_batch});
      const auto [time, peer] = hop(from, a.stage);
      if (peer < 0 || !times_.blocking_hops) {
        start = std::max(start, input + time);
      } else {
        const double posted = batched || send_peer == order_.rank_of[from] ? free : sent;
        start = std::max(start, std::max(posted, input) + time);
      }
    }
    return start;
  }

  bool raise() {
    bool changed = false;
    std::size_t at = 0;
    for (int rank = 0; rank < order_.ranks; ++rank) {
      double free = 0;
      Turn before;
      for (const Turn& turn : turns_of(rank)) {
        const double start = earliest(turn, before, free);
        free = start + duration(turn);
        for (const Action& a : turn) {
          changed = changed || start > starts_[at];
          starts_[at++] = start;
          if (a.kind != weight_grad) end_[key(a)] = free;
        }
        before = turn;
      }
    }
    return changed;
  }

  const Order& order_;
  const StageTimes& times_;
  std::map<Key, double> end_;
  std::vector<double> starts_;
};

/// Quarter seconds, so that sums are exact and times compare with ==.
std::vector<Seconds> random_times(std::mt19937& random, int count) {
  std::vector<Seconds> times;
  for (int i = 0; i < count; ++i) times.emplace_back(static_cast<double>(random() % 40) / 4);
  return times;
}

std::vector<double> random_each(std::mt19937& random, const Order& order) {
  std::vector<double> each;
  if (random() % 3 > 0) return each;
  for (const Seconds time : random_times(random, order.stages() * order.units())) each.push_back(time.value());
  return each;
}

StageTimes random_stages(std::mt19937& random, const Order& order, bool blocking) {
  const int stages = order.stages();
  StageTimes times;
  times.forward = random_times(random, stages);
  times.input_grad = random_times(random, stages);
  times.weight_grad = random_times(random, stages);
  times.blocking_hops = blocking;
  times.pair_factor = random() % 2 ? 1 : 0.75;
  if (random() % 4 > 0) times.hop_forward = random_times(random, stages - 1);
  if (random() % 4 > 0) times.hop_backward = random_times(random, stages - 1);
  times.forward_each = random_each(random, order);
  times.input_grad_each = random_each(random, order);
  times.weight_grad_each = random_each(random, order);
  if (random() % 3 == 0) {
    for (int rank = 0; rank < order.ranks; ++rank) times.rank_slowdown.push_back(random() % 3 ? 1 : 1.5);
  }
  return times;
}

/// Every fused backward as I at its place and W a random distance later; pairs one after the other.
Order split_backwards(const Order& fused, std::mt19937& random) {
  Order order = fused;
  order.actions.clear();
  order.begin = {0};
  for (int rank = 0; rank < fused.ranks; ++rank) {
    std::vector<Action> pending;
    for (const Action& a : fused.of_rank(rank)) {
      order.actions.push_back({a.kind == backward ? input_grad : a.kind, a.stage, a.micro_batch});
      if (a.kind == backward) pending.push_back({weight_grad, a.stage, a.micro_batch});
      if (!pending.empty() && random() % 2) {
        order.actions.push_back(pending.front());
        pending.erase(pending.begin());
      }
    }
    order.actions.insert(order.actions.end(), pending.begin(), pending.end());
    order.begin.push_back(static_cast<std::int32_t>(order.actions.size()));
  }
  return order;
}

void expect_same(const Order& order, const StageTimes& times) {
  const Timeline timeline = timeline_of(order, times);
  const LiteralRules rules(order, times);
  for (std::size_t i = 0; i < order.actions.size(); ++i) {
    ASSERT_EQ(timeline.start[i].value(), rules.starts()[i])
        << "action " << i << " " << to_text(order.actions[i]) << " of p=" << order.ranks << " v=" << order.chunks
        << " m=" << order.micro_batches;
  }
}

/// busy is the sum of durations; a rank's clock is busy, held and idle time.
void expect_conserved(const Order& order, const StageTimes& times) {
  const Timeline timeline = timeline_of(order, times);
  const LiteralRules rules(order, times);
  for (int rank = 0; rank < order.ranks; ++rank) {
    ASSERT_EQ(timeline.busy[rank].value(), rules.work_of(rank));
    ASSERT_GE(timeline.hop_wait[rank], Seconds(0));
    ASSERT_LE(timeline.busy[rank] + timeline.hop_wait[rank], timeline.rank_end[rank]);
    ASSERT_EQ(timeline.rank_end[rank], timeline.end[order.begin[rank + 1] - 1]);
    ASSERT_LE(timeline.rank_end[rank] - timeline.rank_start[rank], timeline.span);
    ASSERT_LE(timeline.span, timeline.makespan);
  }
}

ScheduleSize random_size(std::mt19937& random, const ScheduleKind& kind) {
  ScheduleSize size;
  size.ranks = 1 + static_cast<int>(random() % 6);
  if (kind.takes_chunks) size.chunks = 2 + static_cast<int>(random() % 2);
  if (kind.takes_slices) size.slices = 1 + static_cast<int>(random() % 3);
  size.micro_batches = 1 + static_cast<int>(random() % 14);
  return size;
}

TEST(LongestPath, UnequalStagesAndHopsOfEveryKind) {
  std::mt19937 random(7);
  for (const ScheduleKind& kind : schedule_kinds()) {
    int checked = 0;
    for (int trial = 0; trial < 150 || checked < 20; ++trial) {
      const auto order = make_order(kind.id, random_size(random, kind));
      if (!order) continue;
      const StageTimes times = random_stages(random, *order, trial % 2 == 0);
      expect_same(*order, times);
      expect_conserved(*order, times);
      const Order split = split_backwards(*order, random);
      ASSERT_TRUE(check_order(split)) << kind.id;
      expect_same(split, times);
      expect_conserved(split, times);
      if (HasFatalFailure()) return;
      ++checked;
    }
  }
}

TEST(LongestPath, BlockingIsNeverFasterAndLongerStagesNeverHelp) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    const int p = 2 + static_cast<int>(random() % 5);
    const Order order = pipelines::order_of("1f1b", {.ranks = p, .micro_batches = 1 + static_cast<int>(random() % 16)});
    StageTimes times = random_stages(random, order, false);
    times.forward_each.clear();
    const Seconds overlapped = timeline_of(order, times).makespan;
    times.blocking_hops = true;
    ASSERT_GE(timeline_of(order, times).makespan, overlapped);
    times.blocking_hops = false;
    times.forward[random() % p] += Seconds(1);
    ASSERT_GE(timeline_of(order, times).makespan, overlapped);
  }
}

}  // namespace
}  // namespace stepcast::sim::longest_path_test
