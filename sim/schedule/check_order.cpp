// Legality of an order that somebody else wrote: complete, each action once and on its rank, F before I before W.
#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "sim/schedule/order_fault.h"

namespace stepcast::sim {
namespace {

using Checked = tl::expected<void, OrderFault>;

tl::unexpected<OrderFault> refuse(std::string what, std::string hint) {
  return tl::unexpected(OrderFault{std::nullopt, std::move(what), std::move(hint)});
}

// What one micro-batch has been through on one stage.
enum OrderProgress : std::uint8_t {
  not_begun = 0,
  forward_done = 1,
  input_grad_done = 2,
  weight_grad_done = 4,
  stage_done = 7
};

struct OrderStep {
  std::uint8_t needs, adds;
};

/// By ActionKind: what must have happened, and none of what the action adds.
constexpr OrderStep order_steps[] = {{not_begun, forward_done}, {forward_done, input_grad_done | weight_grad_done},
    {forward_done, input_grad_done}, {forward_done | input_grad_done, weight_grad_done}};

/// Also keeps what check_order allocates within the size of the order itself.
Checked check_length(const Order& order) {
  const double each_way = static_cast<double>(order.micro_batches) * order.slices / order.directions;
  const double passes = order.stages() * each_way;
  const auto found = static_cast<double>(order.actions.size());
  if (found >= 2 * passes && found <= 3 * passes) return {};
  const std::string slices = order.slices > 1 ? fmt::format(" of {} slices", order.slices) : "";
  return refuse(fmt::format("{} actions for {} stages and {} micro-batches{}", found, order.stages(),
                    order.micro_batches, slices),
      fmt::format("{} with fused backward, {} with all of it split", 2 * passes, 3 * passes));
}

Checked check_counts(const Order& order) {
  if (order.ranks < 1 || order.chunks < 1 || order.micro_batches < 1 || order.slices < 1) {
    return refuse(fmt::format("{} ranks, {} chunks, {} micro-batches, {} slices", order.ranks, order.chunks,
                      order.micro_batches, order.slices),
        "1 or more of each");
  }
  if (order.directions != 1 && order.directions != 2)
    return refuse(fmt::format("{} directions", order.directions), "1 or 2");
  if (order.micro_batches % order.directions != 0 || (order.ranks * order.chunks) % order.directions != 0) {
    return refuse(
        fmt::format("{} micro-batches on {} stages for 2 directions", order.micro_batches, order.ranks * order.chunks),
        "an even number of each: half of them goes each way");
  }
  return {};
}

Checked check_placement(const Order& order) {
  const auto stages = static_cast<std::size_t>(order.ranks) * static_cast<std::size_t>(order.chunks);
  if (order.rank_of.size() != stages) {
    return refuse(fmt::format("{} stages are placed", order.rank_of.size()), fmt::format("{}: ranks x chunks", stages));
  }
  for (const std::int32_t rank : order.rank_of) {
    if (rank < 0 || rank >= order.ranks)
      return refuse(fmt::format("a stage is placed on rank {}", rank), fmt::format("0 to {}", order.ranks - 1));
  }
  return {};
}

Checked check_shape(const Order& order) {
  TRY(check_counts(order));
  TRY(check_placement(order));
  const bool offsets_fit = order.begin.size() == static_cast<std::size_t>(order.ranks) + 1 &&
                           order.begin.front() == 0 &&
                           order.begin.back() == static_cast<std::int64_t>(order.actions.size()) &&
                           std::is_sorted(order.begin.begin(), order.begin.end());
  if (!offsets_fit)
    return refuse(
        "the ranks' offsets do not cover the actions", "ranks+1 rising offsets from 0 to the number of actions");
  return check_length(order);
}

/// `what` is said of one action.
tl::unexpected<OrderFault> refuse(std::size_t at, std::string what, std::string hint) {
  return tl::unexpected(OrderFault{at, std::move(what), std::move(hint)});
}

/// Does the unit pass the stage at all? With two directions only half of them do.
bool passes(const Order& order, int stage, int unit) {
  return unit / (order.units() / order.directions) == order.direction_of(stage);
}

bool is_inside(const Order& order, const Action& action) {
  return action.stage >= 0 && action.stage < order.stages() && action.micro_batch >= 0 &&
         action.micro_batch < order.units();
}

Checked check_place(const Order& order, int rank, std::size_t at) {
  const Action& action = order.actions[at];
  if (!is_inside(order, action)) {
    return refuse(at, "is outside of the order",
        fmt::format("stages 0 to {}, {} 0 to {}", order.stages() - 1, order.slices > 1 ? "slices" : "micro-batches",
            order.units() - 1));
  }
  if (order.rank_of[action.stage] != rank) {
    return refuse(
        at, "is not of this rank", fmt::format("stage {} sits on rank {}", action.stage, order.rank_of[action.stage]));
  }
  if (!passes(order, action.stage, action.micro_batch)) {
    return refuse(at, "goes the other way",
        fmt::format("stages 0 to {} take the first {} micro-batches, the others the rest", order.stages() / 2 - 1,
            order.micro_batches / 2));
  }
  return {};
}

/// A slice attends to those before it in its sequence: forward runs first to last, the gradient comes last to first.
bool follows_its_slices(const Order& order, const Action& action, const std::uint8_t* state) {
  const int slice = action.micro_batch % order.slices;
  if (action.kind == ActionKind::forward) return slice == 0 || (state[-1] & forward_done) != 0;
  if (action.kind == ActionKind::weight_grad) return true;
  return slice == order.slices - 1 || (state[1] & input_grad_done) != 0;
}

/// `passed` by (stage, unit).
Checked check_action(const Order& order, int rank, std::size_t at, std::vector<std::uint8_t>& passed) {
  TRY(check_place(order, rank, at));
  const Action& action = order.actions[at];
  auto& state = passed[std::size_t(action.stage) * std::size_t(order.units()) + std::size_t(action.micro_batch)];
  const OrderStep step = order_steps[static_cast<int>(action.kind)];
  if (state & step.adds) return refuse(at, "repeats work that was done", "each micro-batch once per stage");
  if ((state & step.needs) != step.needs) {
    return refuse(at, "comes too early", "forward, then input gradient, then weight gradient");
  }
  if (!follows_its_slices(order, action, &state)) {
    return refuse(
        at, "comes before a slice that it needs", "slices of a sequence forward first to last, backward last to first");
  }
  state |= step.adds;
  return {};
}

/// A forward and a backward (or input gradient) that do not need each other.
Checked check_pair(const Order& order, int rank, std::size_t at) {
  const Action& action = order.actions[at];
  if (!action.with_next) return {};
  const char* const hint = "a forward and a backward of different micro-batches or stages, side by side";
  if (at + 1 == static_cast<std::size_t>(order.begin[rank + 1]) || order.actions[at + 1].with_next)
    return refuse(at, "is paired with an action that is not there or has its own pair", hint);
  const Action& next = order.actions[at + 1];
  const bool one_each = (action.kind == ActionKind::forward) != (next.kind == ActionKind::forward) &&
                        action.kind != ActionKind::weight_grad && next.kind != ActionKind::weight_grad;
  if (one_each && (action.stage != next.stage || action.micro_batch != next.micro_batch)) return {};
  return refuse(at, fmt::format("cannot run at once with {}", to_text(next)), hint);
}

Checked check_finished(const Order& order, const std::vector<std::uint8_t>& passed) {
  for (int stage = 0; stage < order.stages(); ++stage) {
    for (int unit = 0; unit < order.units(); ++unit) {
      const auto at = std::size_t(stage) * std::size_t(order.units()) + std::size_t(unit);
      if (passed[at] == stage_done || !passes(order, stage, unit)) continue;
      const char* const what = order.slices > 1 ? "slice" : "micro-batch";
      return refuse(fmt::format("{} {} does not finish stage {}", what, unit, stage),
          "one forward and one backward (or input and weight gradient) of every micro-batch on every stage");
    }
  }
  return {};
}

}  // namespace

tl::expected<void, OrderFault> find_fault(const Order& order) {
  TRY(check_shape(order));
  std::vector<std::uint8_t> passed(order.rank_of.size() * static_cast<std::size_t>(order.units()), not_begun);
  for (int rank = 0; rank < order.ranks; ++rank) {
    const auto end = static_cast<std::size_t>(order.begin[rank + 1]);
    for (auto at = static_cast<std::size_t>(order.begin[rank]); at < end; ++at) {
      TRY(check_action(order, rank, at, passed));
      TRY(check_pair(order, rank, at));
    }
  }
  return check_finished(order, passed);
}

Error error_of(const OrderFault& fault, const Order& order) {
  if (!fault.at) return {"order", fault.what, fault.hint};
  const auto after = std::upper_bound(order.begin.begin(), order.begin.end(), static_cast<std::int64_t>(*fault.at));
  return {fmt::format("rank {}", after - order.begin.begin() - 1),
      fmt::format("{} {}", to_text(order.actions[*fault.at]), fault.what), fault.hint};
}

Expected<void> check_order(const Order& order) {
  const auto found = find_fault(order);
  if (!found) return tl::unexpected(error_of(found.error(), order));
  return {};
}

}  // namespace stepcast::sim
