// The engine against the timing rules written down literally: all starts begin at 0 and are raised until every rule
// holds. Slow and simple on purpose.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "pipelines.h"

namespace stepcast::longest_path_test {
namespace {

using enum ActionKind;
using pipelines::timeline_of;

/// Starts and ends by (kind of result, stage, micro-batch): 'F', or 'G' for the gradient that goes on.
class LiteralRules {
 public:
  LiteralRules(const Order& order, const StageTimes& times) : order_(order), times_(times) {
    for (int rank = 0; rank < order.ranks; ++rank) {
      for (const Action& a : order.of_rank(rank)) {
        if (a.kind != weight_grad) end_[key(a)] = 0;
      }
    }
    starts_.assign(order.actions.size(), 0.0);
    while (raise()) {
    }
  }

  const std::vector<double>& starts() const { return starts_; }

 private:
  using Key = std::tuple<char, int, int>;
  static Key key(const Action& a) { return {a.kind == forward ? 'F' : 'G', a.stage, a.micro_batch}; }

  double duration(const Action& a) const {
    const double i = times_.input_grad[a.stage].value(), w = times_.weight_grad[a.stage].value();
    if (a.kind == forward) return times_.forward[a.stage].value();
    return a.kind == backward ? i + w : a.kind == input_grad ? i : w;
  }
  /// Hop between a stage and its neighbour, and the neighbour's rank; {0, -1} where it stays on the rank or ends.
  std::pair<double, int> hop(int from, int to) const {
    if (from < 0 || to < 0 || from >= order_.stages() || to >= order_.stages()) return {0, -1};
    if (order_.rank_of[from] == order_.rank_of[to]) return {0, -1};
    const auto& hops = from < to ? times_.hop_forward : times_.hop_backward;
    return {hops.empty() ? 0 : hops[std::min(from, to)].value(), order_.rank_of[to]};
  }
  static int input_stage(const Action& a) { return a.kind == forward ? a.stage - 1 : a.stage + 1; }
  static int output_stage(const Action& a) { return a.kind == forward ? a.stage + 1 : a.stage - 1; }

  double earliest(const Action& a, const Action* before, double free) const {
    double start = free, sent = free;
    int send_peer = -1;
    if (times_.blocking_hops && before && before->kind != weight_grad) {
      const auto [time, peer] = hop(before->stage, output_stage(*before));
      sent = free + time;
      send_peer = peer;
      start = sent;
    }
    if (a.kind == weight_grad) return std::max(start, end_.at({'G', a.stage, a.micro_batch}));
    if (a.kind != forward) start = std::max(start, end_.at({'F', a.stage, a.micro_batch}));
    const int from = input_stage(a);
    if (from < 0 || from >= order_.stages()) return start;
    const double input = end_.at({a.kind == forward ? 'F' : 'G', from, a.micro_batch});
    const auto [time, unused] = hop(from, a.stage);
    if (order_.rank_of[from] == order_.rank_of[a.stage]) return std::max(start, input);
    if (!times_.blocking_hops) return std::max(start, input + time);
    const bool exchange = order_.chunks > 1 || send_peer == order_.rank_of[from];
    const double posted = exchange ? free : sent;
    return std::max(start, std::max(posted, input) + time);
  }

  bool raise() {
    bool changed = false;
    std::size_t at = 0;
    for (int rank = 0; rank < order_.ranks; ++rank) {
      double free = 0;
      const Action* before = nullptr;
      for (const Action& a : order_.of_rank(rank)) {
        const double start = earliest(a, before, free);
        changed = changed || start > starts_[at];
        starts_[at++] = start;
        free = start + duration(a);
        if (a.kind != weight_grad) end_[key(a)] = free;
        before = &a;
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

StageTimes random_stages(std::mt19937& random, int stages, bool blocking) {
  StageTimes times{
      random_times(random, stages), random_times(random, stages), random_times(random, stages), {}, {}, blocking};
  if (random() % 4 > 0) times.hop_forward = random_times(random, stages - 1);
  if (random() % 4 > 0) times.hop_backward = random_times(random, stages - 1);
  return times;
}

/// Every fused backward as I at its place and W a random distance later.
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
  for (int rank = 0; rank < order.ranks; ++rank) {
    double work = 0;
    for (int s = 0; s < order.stages(); ++s) {
      if (order.rank_of[s] == rank)
        work += (times.forward[s] + times.input_grad[s] + times.weight_grad[s]).value() * order.micro_batches;
    }
    ASSERT_EQ(timeline.busy[rank].value(), work);
    ASSERT_GE(timeline.hop_wait[rank], Seconds(0));
    ASSERT_LE(timeline.busy[rank] + timeline.hop_wait[rank], timeline.end[order.begin[rank + 1] - 1]);
    ASSERT_LE(timeline.span, timeline.makespan);
  }
}

TEST(LongestPath, UnequalStagesAndHopsOfEveryKind) {
  std::mt19937 random(7);
  int checked = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    for (int trial = 0; trial < 500; ++trial) {
      const int p = 1 + static_cast<int>(random() % 6), v = kind.takes_chunks ? 2 + static_cast<int>(random() % 2) : 1;
      const auto order = make_order(kind.id, {p, v, 1 + static_cast<int>(random() % 12), 0});
      if (!order) continue;
      const StageTimes times = random_stages(random, p * v, trial % 2 == 0);
      expect_same(*order, times);
      expect_conserved(*order, times);
      const Order split = split_backwards(*order, random);
      ASSERT_TRUE(check_order(split));
      expect_same(split, times);
      expect_conserved(split, times);
      if (HasFatalFailure()) return;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(LongestPath, BlockingIsNeverFasterAndLongerStagesNeverHelp) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    const int p = 2 + static_cast<int>(random() % 5);
    const Order order = pipelines::order_of("1f1b", {.ranks = p, .micro_batches = 1 + static_cast<int>(random() % 16)});
    StageTimes times = random_stages(random, p, false);
    const Seconds overlapped = timeline_of(order, times).makespan;
    times.blocking_hops = true;
    ASSERT_GE(timeline_of(order, times).makespan, overlapped);
    times.blocking_hops = false;
    times.forward[random() % p] += Seconds(1);
    ASSERT_GE(timeline_of(order, times).makespan, overlapped);
  }
}

}  // namespace
}  // namespace stepcast::longest_path_test
