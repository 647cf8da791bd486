// Checkpoint policies of JAX programs, by the names that their configurations give them: what backward runs again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/network/network.h"

namespace stepcast::records {

/// The statement of the notation for a policy on a dense network; nothing if no policy has that name.
std::optional<std::string> policy_statement(std::string_view policy, const NetworkSpec& spec);

}  // namespace stepcast::records
