// What engines refuse when they start: key heads and vocabularies that tp does not divide, blocks of fp8 that ranks
// would cut, and a longest request that the cache does not hold; and requests over the positions that the network or
// the launch has. Also what they fill up: tables of words, so that each rank has as many rows.
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
/// Of weights in blocks of fp8. `experts_apart`: those of experts have another form. `groups`: ranks with sequences of
/// their own. Error: ranks with parts of blocks, where the engine refuses them.
Expected<void> check_blocks(
    const run::Scenario& scenario, bool experts_apart, std::int64_t groups, const Engine& engine);
/// `holds`: positions of a request that the cache of the engine holds at most. Error: the longest request that it is
/// told to take is longer, where the engine refuses that.
Expected<void> check_longest(std::int64_t longest, std::int64_t holds, const Engine& engine);
/// Positions of a sequence: of those that are asked for, those that a launch has its engine take (0: it does not say),
/// and those of the network (0: not told).
struct SequencePositions {
  std::int64_t length = 0, longest = 0, network = 0;
  std::int64_t added = 0;  ///< of `length`, by the step: the flag does not say them
};
/// Said by `flag`. Error: the network has fewer, or the engine is told to take fewer.
Expected<void> check_positions(const SequencePositions& positions, const Engine& engine, const char* flag);
/// Fills the vocabulary up where `tp` does not divide it, and says so. Error: `tp` does not divide what the engine
/// fills it up to.
Expected<void> fill_vocabulary(
    NetworkSpec& network, std::int64_t tp, const Engine& engine, std::vector<std::string>& assumptions);
/// That ranks have the same key heads, where no engine's rule forbids it.
std::vector<std::string> doubled_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine);

}  // namespace stepcast::infer
