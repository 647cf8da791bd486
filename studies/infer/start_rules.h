// What engines refuse when they start: key heads that tp does not divide, blocks of fp8 that ranks would cut, and a
// longest request that the cache does not hold; and requests over the positions that the network turns.
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
/// `holds`: positions of a request that the cache of the engine holds at most. Error: the longest request that it is
/// told to take is longer, where the engine refuses that.
Expected<void> check_longest(std::int64_t longest, std::int64_t holds, const Engine& engine);
/// Positions that the config.json of a network, or of its folder, has turned as they were trained or stretched to: what
/// engines take as the longest request where nothing is said. 0: no file, or one that does not tell.
std::int64_t turned_positions(const std::string& network);
/// A sequence of `length` positions, said by `flag`. Error: the file of the network has fewer, and the engine takes no
/// more. `longest`: what the engine is told to take goes over the file; 0: nothing.
Expected<void> check_turned_positions(
    const std::string& network, std::int64_t length, std::int64_t longest, const Engine& engine, const char* flag);
/// That ranks have the same key heads, where no engine's rule forbids it.
std::vector<std::string> doubled_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine);

}  // namespace stepcast::infer
