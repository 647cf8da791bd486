// What follows from a network's operators alone, however they are split: found once, and asked for every split.
#pragma once

#include <memory>
#include <vector>

#include "model/network/network.h"

namespace stepcast::dataflow {

struct OperatorFacts {
  bool expert = false, shared = false, head = false, core = false;  ///< tags; core: of attention
  bool keeps_width = false;          ///< stays in its operands' type under a narrower plan: core, router, LM head
  bool is_cast = false;              ///< a projection: a product whose operands a narrower plan casts
  double mask_bytes_per_output = 0;  ///< BackwardReads
  std::vector<int> loops;            ///< loops_of()
};

/// Of a tensor in a block.
struct TensorFacts {
  int reader = -1;            ///< the first operator that has it as an input; -1: none
  bool looked_up = false;     ///< by a select
  bool read_by_loss = false;  ///< the logits: what the loss kernel reads
  bool combined = false;      ///< the experts' rows that combining sums
  /// Backward reads it for weight gradients of cast projections alone: it is kept as it was cast.
  bool kept_narrow = false;
};

struct BlockFacts {
  std::vector<OperatorFacts> operators;
  std::vector<TensorFacts> tensors;  ///< by tensor of the network
};

/// By block.
using NetworkFacts = std::vector<BlockFacts>;
std::shared_ptr<const NetworkFacts> facts_of(const Network& network);

}  // namespace stepcast::dataflow
