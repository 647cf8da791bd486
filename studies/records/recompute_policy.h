// What backward runs again, in the words of frameworks: checkpoint policies of JAX programs, by the names that their
// configurations give them, and modules of Megatron-Core.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network/network.h"

namespace stepcast::records {

/// The statement of the notation for a policy on a dense network; nothing if no policy has that name.
std::optional<std::string> policy_statement(std::string_view policy, const NetworkSpec& spec);

/// A module of Megatron-Core's --recompute-modules.
struct RecomputeModule {
  std::string_view word;
  std::string_view tags;  ///< of operators of our networks; "": the attention core, as `selective` has it
};
/// By name; nullptr if there is none.
const RecomputeModule* recompute_module(std::string_view word);
/// Tags of the module that the network has operators of.
std::vector<std::string> tags_of(const RecomputeModule& module, const NetworkSpec& spec);

}  // namespace stepcast::records
