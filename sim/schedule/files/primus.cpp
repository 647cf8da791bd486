// From starts and ends to an order: which operation each one is, sorted by start; ends minus starts are its durations.
#include "sim/schedule/files/primus.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/schedule/schedule_table.h"

namespace stepcast::sim {
namespace {

struct MeasuredAction {
  double start = 0, end = 0;
  Action action;
};

/// Who the n-th operation of each kind is, where the file does not say.
struct Numbering {
  std::vector<Action> forward, backward;
};

Expected<Order> megatron_order(const PrimusSize& size) {
  const char* const kind = size.chunks == 1 ? "1f1b" : "interleaved-1f1b";
  return make_order(kind, {.ranks = size.ranks, .chunks = size.chunks, .micro_batches = size.micro_batches});
}

Numbering numbering_of(const Order& order, int rank) {
  Numbering numbers;
  for (const Action& action : order.of_rank(rank))
    (action.kind == ActionKind::forward ? numbers.forward : numbers.backward).push_back(action);
  return numbers;
}

Expected<void> check_lane(const std::string& where, const char* name, const PrimusLane& lane, std::size_t count) {
  if (lane.start.size() != count || lane.end.size() != count) {
    return fail(where, fmt::format("{} starts and {} ends of {}", lane.start.size(), lane.end.size(), name),
        fmt::format("{} of each: micro-batches x chunks", count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (lane.end[i] >= lane.start[i]) continue;
    return fail(where,
        fmt::format("{} {} ends at {} ms, before its start at {} ms", name, i, lane.end[i], lane.start[i]),
        "ends after starts");
  }
  const auto whole = [&](const auto& list) { return list.empty() || list.size() == count; };
  if (whole(lane.micro_batch) && whole(lane.chunk)) return {};
  return fail(where, fmt::format("not every {} has its micro-batch and chunk", name), fmt::format("{} of each", count));
}

/// Lists that name operations beat the numbering.
Action named(const PrimusSize& size, const PrimusLane& lane, std::size_t i, Action action, int rank, ActionKind kind) {
  action.kind = kind;
  if (!lane.micro_batch.empty()) action.micro_batch = static_cast<std::int32_t>(lane.micro_batch[i]);
  if (!lane.micro_batch.empty() && size.chunks == 1) action.stage = rank;
  if (!lane.chunk.empty()) action.stage = static_cast<std::int32_t>(lane.chunk[i]) * size.ranks + rank;
  return action;
}

class RankReader {
 public:
  RankReader(const PrimusSize& size, const PrimusRank& rank, int number, const Order& megatron)
      : size_(size), rank_(rank), number_(number), numbers_(numbering_of(megatron, number)) {}

  Expected<std::vector<MeasuredAction>> actions() {
    const bool split = !rank_.weight_grad.start.empty();
    TRY(check(split));
    add(rank_.forward, numbers_.forward, ActionKind::forward);
    add(rank_.backward, numbers_.backward, split ? ActionKind::input_grad : ActionKind::backward);
    if (split) add(rank_.weight_grad, numbers_.backward, ActionKind::weight_grad);
    std::ranges::stable_sort(
        actions_, [](const MeasuredAction& a, const MeasuredAction& b) { return a.start < b.start; });
    for (const MeasuredAction& measured : actions_) {
      TRY(check_inside(measured.action));
    }
    return std::move(actions_);
  }

 private:
  Expected<void> check(bool split) const {
    const auto count = static_cast<std::size_t>(size_.chunks) * static_cast<std::size_t>(size_.micro_batches);
    TRY(check_lane(rank_.where, "forward", rank_.forward, count));
    TRY(check_lane(rank_.where, "backward", rank_.backward, count));
    if (!split) return {};
    TRY(check_lane(rank_.where, "weight gradient", rank_.weight_grad, count));
    const bool names =
        !rank_.forward.chunk.empty() && !rank_.backward.chunk.empty() && !rank_.weight_grad.chunk.empty();
    if (size_.chunks == 1 || names) return {};
    return fail(rank_.where, "split backward on several chunks, and nothing says which operation is whose",
        "fwd_chunk, bwd_chunk, wgrad_chunk and the _minibatch lists");
  }

  Expected<void> check_inside(const Action& action) const {
    if (action.micro_batch >= 0 && action.micro_batch < size_.micro_batches && action.stage >= 0 &&
        action.stage < size_.ranks * size_.chunks)
      return {};
    return fail(rank_.where, fmt::format("{} is outside of the step", to_text(action)),
        fmt::format("micro-batches 0 to {}, chunks 0 to {}", size_.micro_batches - 1, size_.chunks - 1));
  }

  void add(const PrimusLane& lane, const std::vector<Action>& numbers, ActionKind kind) {
    for (std::size_t i = 0; i < lane.start.size(); ++i)
      actions_.push_back({lane.start[i], lane.end[i], named(size_, lane, i, numbers[i], number_, kind)});
  }

  const PrimusSize& size_;
  const PrimusRank& rank_;
  int number_;
  Numbering numbers_;
  std::vector<MeasuredAction> actions_;
};

class TimelineBuilder {
 public:
  TimelineBuilder(const PrimusSize& size, const Order& megatron) {
    Order& order = timeline_.timed.order;
    order.ranks = size.ranks;
    order.chunks = size.chunks;
    order.micro_batches = size.micro_batches;
    order.rank_of = megatron.rank_of;
    order.begin = {0};
    const std::size_t passes = order.rank_of.size() * static_cast<std::size_t>(order.units());
    StageTimes& times = timeline_.timed.times;
    for (auto* each : {&times.forward_each, &times.input_grad_each, &times.weight_grad_each}) each->assign(passes, 0.0);
  }

  void add_rank(const std::vector<MeasuredAction>& actions) {
    Order& order = timeline_.timed.order;
    for (const MeasuredAction& measured : actions) {
      order.actions.push_back(measured.action);
      const auto at = static_cast<std::size_t>(measured.action.stage) * static_cast<std::size_t>(order.units()) +
                      static_cast<std::size_t>(measured.action.micro_batch);
      durations_of(measured.action.kind)[at] = (measured.end - measured.start) * 1e-3;
    }
    order.begin.push_back(static_cast<std::int32_t>(order.actions.size()));
    if (order.begin.size() == 2) timeline_.measured = extent(actions);
  }

  Expected<PrimusTimeline> finish() {
    TimedOrder& timed = timeline_.timed;
    TRY(check_order(timed.order));
    set_stage_means(timed.order, timed.times);
    return std::move(timeline_);
  }

 private:
  /// A fused backward goes to input_grad.
  std::vector<double>& durations_of(ActionKind kind) {
    StageTimes& times = timeline_.timed.times;
    if (kind == ActionKind::forward) return times.forward_each;
    return kind == ActionKind::weight_grad ? times.weight_grad_each : times.input_grad_each;
  }

  static Seconds extent(const std::vector<MeasuredAction>& actions) {
    double last = actions.front().end;
    for (const MeasuredAction& measured : actions) last = std::max(last, measured.end);
    return Seconds((last - actions.front().start) * 1e-3);
  }

  PrimusTimeline timeline_;
};

}  // namespace

Expected<PrimusTimeline> primus_timeline(const PrimusSize& size, std::span<const PrimusRank> ranks) {
  if (ranks.size() != static_cast<std::size_t>(size.ranks)) {
    return fail("timeline", fmt::format("{} ranks are there", ranks.size()),
        fmt::format("{}: one per pipeline rank", size.ranks));
  }
  TRY(const auto megatron, megatron_order(size));
  TimelineBuilder builder(size, megatron);
  for (int rank = 0; rank < size.ranks; ++rank) {
    TRY(const auto actions, RankReader(size, ranks[rank], rank, megatron).actions());
    builder.add_rank(actions);
  }
  return builder.finish();
}

}  // namespace stepcast::sim
