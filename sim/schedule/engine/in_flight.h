// How an order's actions change what a rank holds, in the order in which memory changes. Internal to sim/.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/schedule/order.h"

namespace stepcast::sim {

/// By ActionKind: a unit more, one less, or no change.
using ChangeByKind = std::array<std::int32_t, 4>;
inline constexpr ChangeByKind held_until_weight_grad = {1, -1, 0, -1};
inline constexpr ChangeByKind held_until_input_grad = {1, -1, -1, 0};
inline constexpr ChangeByKind pending_weight_grad = {0, 0, 1, -1};

/// Calls `add(action, change)` in the order in which memory changes: what runs at once with the next action frees
/// nothing before that one has taken its share.
template <typename Add> void walk_changes(std::span<const Action> actions, const ChangeByKind& changes, Add add) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::int32_t change = changes[static_cast<std::size_t>(actions[i].kind)];
    if (actions[i].with_next && change < 0 && i + 1 < actions.size()) {
      ++i;
      add(i, changes[static_cast<std::size_t>(actions[i].kind)]);
      add(i - 1, change);
    } else {
      add(i, change);
    }
  }
}

}  // namespace stepcast::sim
