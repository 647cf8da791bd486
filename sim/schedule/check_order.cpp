// Legality of an order that somebody else wrote: complete, each action once and on its rank, F before I before W.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "sim/schedule/order.h"

namespace stepcast {
namespace {

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

/// By ActionKind: what must have happened, and not_begun of what the action adds.
constexpr OrderStep order_steps[] = {{not_begun, forward_done},
                                     {forward_done, input_grad_done | weight_grad_done},
                                     {forward_done, input_grad_done},
                                     {forward_done | input_grad_done, weight_grad_done}};

Expected<void> check_shape(const Order& order) {
  if (order.ranks < 1 || order.chunks < 1 || order.micro_batches < 1) {
    return fail("order",
                fmt::format("{} ranks, {} chunks, {} micro-batches", order.ranks, order.chunks, order.micro_batches),
                "1 or more of each");
  }
  const auto stages = static_cast<std::size_t>(order.ranks) * static_cast<std::size_t>(order.chunks);
  if (order.rank_of.size() != stages) {
    return fail("order", fmt::format("{} stages are placed", order.rank_of.size()),
                fmt::format("{}: ranks x chunks", stages));
  }
  for (const std::int32_t rank : order.rank_of) {
    if (rank < 0 || rank >= order.ranks)
      return fail("order", fmt::format("a stage is placed on rank {}", rank), fmt::format("0 to {}", order.ranks - 1));
  }
  const bool offsets_fit = order.begin.size() == static_cast<std::size_t>(order.ranks) + 1 &&
                           order.begin.front() == 0 &&
                           order.begin.back() == static_cast<std::int64_t>(order.actions.size()) &&
                           std::is_sorted(order.begin.begin(), order.begin.end());
  if (!offsets_fit)
    return fail("order", "the ranks' offsets do not cover the actions",
                "ranks+1 rising offsets from 0 to the number of actions");
  return {};
}

Expected<void> check_action(const Order& order, int rank, const Action& action, std::vector<std::uint8_t>& passed) {
  const std::string where = fmt::format("rank {}", rank);
  if (action.stage < 0 || action.stage >= order.stages() || action.micro_batch < 0 ||
      action.micro_batch >= order.micro_batches) {
    return fail(where, fmt::format("{} is outside of the order", to_text(action)),
                fmt::format("stages 0 to {}, micro-batches 0 to {}", order.stages() - 1, order.micro_batches - 1));
  }
  if (order.rank_of[action.stage] != rank) {
    return fail(where, fmt::format("{} is not of this rank", to_text(action)),
                fmt::format("stage {} sits on rank {}", action.stage, order.rank_of[action.stage]));
  }
  auto& state = passed[static_cast<std::size_t>(action.stage) * static_cast<std::size_t>(order.micro_batches) +
                       static_cast<std::size_t>(action.micro_batch)];
  const OrderStep step = order_steps[static_cast<int>(action.kind)];
  if (state & step.adds)
    return fail(where, fmt::format("{} repeats work that was done", to_text(action)),
                "each micro-batch once per stage");
  if ((state & step.needs) != step.needs)
    return fail(where, fmt::format("{} comes too early", to_text(action)),
                "forward, then input gradient, then weight gradient");
  state |= step.adds;
  return {};
}

}  // namespace

Expected<void> check_order(const Order& order) {
  if (auto ok = check_shape(order); !ok) return ok;
  std::vector<std::uint8_t> passed(order.rank_of.size() * static_cast<std::size_t>(order.micro_batches), not_begun);
  for (int rank = 0; rank < order.ranks; ++rank) {
    for (const Action& action : order.of_rank(rank)) {
      if (auto ok = check_action(order, rank, action, passed); !ok) return ok;
    }
  }
  const auto open = std::find_if(passed.begin(), passed.end(), [](std::uint8_t state) { return state != stage_done; });
  if (open == passed.end()) return {};
  const auto index = static_cast<std::int64_t>(open - passed.begin());
  return fail(
      "order",
      fmt::format("micro-batch {} does not finish stage {}", index % order.micro_batches, index / order.micro_batches),
      "one forward and one backward (or input and weight gradient) of every micro-batch on every stage");
}

}  // namespace stepcast
