// Mappings written at random from words, executed rank by rank and compared with one rank. Deterministic: the seed is
// the number of the mapping.
#pragma once

#include <string>
#include <vector>

#include "model/network/network.h"

namespace stepcast::dataflow {

/// What a random mapping may name.
struct Words {
  std::vector<std::string> loops, tags, activations, dims;
  /// of so many homes one is Partial: a nonlinear operator refuses such operands, so few where there are many
  std::size_t partial_one_in = 20;
  std::vector<std::string> whole = {};  ///< dims that no home splits
};
/// All loops, tags and activations of a network, and the dims of its weights, without these loops and dims.
Words words_of(const Network& network, const std::vector<std::string>& whole = {});

struct Tally {
  int ran = 0, refused = 0, counted_moves = 0;
};

/// Places and executes `tries` random mappings; each that is legal must give the one-rank result.
Tally run_random(const Network& network, const Words& words, unsigned first_seed, int tries);

}  // namespace stepcast::dataflow
