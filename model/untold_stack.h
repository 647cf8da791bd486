// Software that nobody named. A usual one stands for it, and what measured steps say of that one says how its own may
// be, not how they are: no fit is its own, and intervals are wider (model/step_tuning.cpp).
#pragma once

#include <string_view>

#include "model/stack.h"

namespace stepcast {

/// In front of the id of the row that stands for it: "like:megatron-core".
inline constexpr std::string_view like_software = "like:";

inline bool is_untold(const Stack& stack) { return stack.id.starts_with(like_software); }
/// The row as what stands for software that nobody named.
Stack as_untold(Stack stack);
/// Without the word in front: which row stands for it.
std::string_view named_row_of(std::string_view stack_id);

}  // namespace stepcast
