// Says why an order cannot run: follows who waits for whom until an action comes round again or nobody holds it.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "sim/schedule/engine/engine_parts.h"

namespace stepcast::sim::engine {
namespace {

/// What an action takes from where; only its stage's row knows.
struct Missing {
  Action action;                     ///< a B stands for a fused backward or an input gradient
  std::optional<std::int32_t> rank;  ///< who has it ahead of it, if anybody
};

bool produces(const Action& candidate, Direction direction, int stage, int unit) {
  if (candidate.stage != stage || candidate.micro_batch != unit) return false;
  if (direction == ahead) return candidate.kind == ActionKind::forward;
  return candidate.kind == ActionKind::backward || candidate.kind == ActionKind::input_grad;
}

Missing find_missing(const Order& order, const EngineWorkspace& workspace, const EngineRank& waiter) {
  const std::int64_t half = std::int64_t{order.stages()} * order.units();
  const Direction direction = waiter.waits_for < half ? ahead : back;
  const std::int64_t slot = waiter.waits_for % half;
  const int stage = static_cast<int>(slot / order.units()), unit = static_cast<int>(slot % order.units());
  const std::int32_t rank = order.rank_of[stage];
  const EngineRank& holder = workspace.ranks[rank];
  for (std::int32_t i = holder.next; i < holder.end; ++i) {
    if (produces(order.actions[i], direction, stage, unit)) return {order.actions[i], rank};
  }
  return {{direction == ahead ? ActionKind::forward : ActionKind::backward, stage, unit}, std::nullopt};
}

/// A pair waits as one.
std::string waiting_text(const Order& order, std::int32_t position) {
  const std::string action = to_text(order.actions[position]);
  return order.actions[position].with_next ? action + "+" + to_text(order.actions[position + 1]) : action;
}

}  // namespace

Error name_deadlock(const Order& order, const EngineWorkspace& workspace) {
  const auto stuck = std::find_if(
      workspace.ranks.begin(), workspace.ranks.end(), [](const EngineRank& rank) { return rank.next < rank.end; });
  auto rank = static_cast<std::int32_t>(stuck - workspace.ranks.begin());
  std::vector<std::int32_t> walked;
  std::vector<std::string> waits;
  // Every stuck rank waits for one action of one rank: walking on must end, or come back to a rank.
  while (!contains(walked, rank)) {
    walked.push_back(rank);
    const EngineRank& waiter = workspace.ranks[rank];
    const Missing missing = find_missing(order, workspace, waiter);
    const std::string wait =
        fmt::format("rank {} waits at {} for {}", rank, waiting_text(order, waiter.next), to_text(missing.action));
    if (!missing.rank) return Error{"order", wait + ", which no rank runs", "add it to its rank's order"};
    waits.push_back(wait + fmt::format(" on rank {}", *missing.rank));
    rank = *missing.rank;
  }
  const auto loop = std::find(walked.begin(), walked.end(), rank) - walked.begin();
  return Error{"order", fmt::format("cannot run: {}", fmt::join(waits.begin() + loop, waits.end(), "; ")),
      "these actions wait for each other: move one of them earlier on its rank"};
}

}  // namespace stepcast::sim::engine
