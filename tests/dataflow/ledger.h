// What a placed network moves, as rows that a test can compare: bytes received per rank, by pass, time, cargo and kind.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/place/block.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// Parses, expands and places. `text` holds mesh lines, aliases in use and statements; the GPU count is the first mesh
/// line's product.
Expected<PlacedNetwork> place_text(const Network& network, const std::string& text, const PlacingOptions& options = {});

/// The same for texts that must be right: reports the error as a test failure and returns an empty network.
PlacedNetwork placed_of(const Network& network, const std::string& text, const PlacingOptions& options = {});

/// Row -> bytes received per rank. A row is named by what happens when:
///   "forward all_gather"             an activation, each micro-batch
///   "backward all_gather again"      repeated for backward
///   "backward gradient reduce_scatter", "forward weight all_gather"   of weights, each micro-batch
///   "recompute all_reduce"
///   "first use all_gather", "last use all_reduce", "tail all_gather"  once per step
/// Rows of weights that are a norm's gain or bias start with "norm ". Free moves (slice, mask) have no row.
using MovedBytes = std::map<std::string, double>;
MovedBytes moved_bytes(const Network& network, const PlacedNetwork& placed, const std::string& block);

/// How many moves make up one row.
int moves_in(const Network& network, const PlacedNetwork& placed, const std::string& block, const std::string& row);

/// Saved bytes of one micro-batch: tensors by name, side products as "operator side".
std::map<std::string, double> saved_bytes(
    const Network& network, const PlacedNetwork& placed, const std::string& block);

const PlacedBlock& block_of(const Network& network, const PlacedNetwork& placed, const std::string& block);
const WeightChain* chain_of(const Network& network, const PlacedBlock& block, const std::string& weight);

/// A small network by hand: dims by name, tensors over them, operators over the tensors.
class NetworkWriter {
 public:
  explicit NetworkWriter(std::initializer_list<std::pair<const char*, std::int64_t>> dims);
  int tensor(const char* name, const char* dims, TensorRole role = TensorRole::activation, double bytes = 2);
  /// Loops as letters, one per dim: product("up", out, "bf", x, "bh", w, "hf").
  Operator& product(
      const char* name, int out, const char* out_loops, int a, const char* a_loops, int b, const char* b_loops);
  /// Every operand over its own dims.
  Operator& pointwise(
      const char* name, OperatorKind kind, const char* function, int out, std::initializer_list<int> inputs);
  /// Ends the network of this one block.
  Network finish(int input, int output);

 private:
  [[nodiscard]] std::vector<int> loops(const char* letters) const;
  Network net_;
};

}  // namespace stepcast::dataflow
