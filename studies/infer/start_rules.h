// What engines refuse when they load weights: key heads that tp does not divide, and blocks of fp8 that ranks would
// cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/engine.h"
#include "studies/run/scenario.h"

namespace stepcast::infer {

/// Error: ranks with parts of key heads, where the engine refuses them.
Expected<void> check_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine);
/// May ranks have copies of the one group of heads that a state-space layer has?
bool copies_groups(const Engine& engine);
/// Of weights in blocks of fp8. `groups`: ranks with sequences of their own. Error: ranks with parts of blocks, where
/// the engine refuses them.
Expected<void> check_blocks(const run::Scenario& scenario, std::int64_t groups, const Engine& engine);
/// That ranks have the same key heads, where no engine's rule forbids it.
std::vector<std::string> doubled_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine);

}  // namespace stepcast::infer
