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

/// By ActionKind: what must have happened, and none of what the action adds.
constexpr OrderStep order_steps[] = {{not_begun, forward_done},
                                     {forward_done, input_grad_done | weight_grad_done},
                                     {forward_done, input_grad_done},
                                     {forward_done | input_grad_done, weight_grad_done}};

/// Also keeps what check_order allocates within the size of the order itself.
Expected<void> check_length(const Order& order) {
  const double units = static_cast<double>(order.stages()) * order.micro_batches;
  const auto found = static_cast<double>(order.actions.size());
  if (found >= 2 * units && found <= 3 * units) return {};
  return fail("order",
              fmt::format("{} actions for {} stages and {} micro-batches", found, order.stages(), order.micro_batches),
              fmt::format("{} with fused backward, {} with all of it split", 2 * units, 3 * units));
}

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
  return check_length(order);
}

tl::unexpected<Error> refuse(int rank, const Action& action, const char* what, std::string hint) {
  return fail(fmt::format("rank {}", rank), fmt::format("{} {}", to_text(action), what), std::move(hint));
}

bool is_inside(const Order& order, const Action& action) {
  return action.stage >= 0 && action.stage < order.stages() && action.micro_batch >= 0 &&
         action.micro_batch < order.micro_batches;
}

/// `passed` by (stage, micro-batch).
Expected<void> check_action(const Order& order, int rank, const Action& action, std::vector<std::uint8_t>& passed) {
  if (!is_inside(order, action)) {
    return refuse(rank, action, "is outside of the order",
                  fmt::format("stages 0 to {}, micro-batches 0 to {}", order.stages() - 1, order.micro_batches - 1));
  }
  if (order.rank_of[action.stage] != rank) {
    return refuse(rank, action, "is not of this rank",
                  fmt::format("stage {} sits on rank {}", action.stage, order.rank_of[action.stage]));
  }
  auto& state = passed[std::size_t(action.stage) * std::size_t(order.micro_batches) + std::size_t(action.micro_batch)];
  const OrderStep step = order_steps[static_cast<int>(action.kind)];
  if (state & step.adds) return refuse(rank, action, "repeats work that was done", "each micro-batch once per stage");
  if ((state & step.needs) != step.needs) {
    return refuse(rank, action, "comes too early", "forward, then input gradient, then weight gradient");
  }
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
  const auto open = std::find_if(passed.begin(), passed.end(), [](std::uint8_t done) { return done != stage_done; });
  if (open == passed.end()) return {};
  const auto index = static_cast<std::int64_t>(open - passed.begin());
  return fail(
      "order",
      fmt::format("micro-batch {} does not finish stage {}", index % order.micro_batches, index / order.micro_batches),
      "one forward and one backward (or input and weight gradient) of every micro-batch on every stage");
}

}  // namespace stepcast
