// Runs a placed network rank by rank with real numbers: forward, backward and the optimizer's step. Every move is
// carried out as the collective that it claims to be, over its atoms, from what the ranks really hold; operators read
// only what their rank holds; backward reads only saved copies, weights and what it made itself; received bytes are
// counted. On a mesh of one rank this is the reference.
#pragma once

#include <string>
#include <vector>

#include "dataflow/place/block.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// A value for every element of every tensor that is given (weights, data, the first input), and for the gradient of
/// the last output where the network does not end in a loss. By tensor; deterministic.
struct GivenValues {
  std::vector<std::vector<double>> value, gradient;
};
GivenValues some_values(const Network& network, unsigned seed);

struct Executed {
  std::string error;                           ///< "" = the placed network is sound
  int counted_moves = 0;                       ///< whose received bytes were compared
  std::vector<std::vector<double>> outputs;    ///< by block: its output
  std::vector<double> input_gradient;          ///< of the first block, where it has an input
  std::vector<std::vector<double>> gradients;  ///< by weight tensor: at the optimizer
  std::vector<std::vector<double>> weights;    ///< by weight tensor: updated, at home
};

/// The update is w - learning_rate * gradient.
inline constexpr double learning_rate = 0.125;

Executed execute(const Network& network, const PlacedNetwork& placed, const GivenValues& given);

/// "" or what differs, beyond a relative 1e-9.
std::string difference(const Network& network, const Executed& expected, const Executed& actual);

}  // namespace stepcast::dataflow
