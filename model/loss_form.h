// How much of the logits lies in memory at once, and how long: software makes them whole, in pieces of the positions
// one after the other, or on the chip alone.
#pragma once

#include <cstdint>

namespace stepcast {

enum class LossPieces : std::uint8_t {
  whole,     ///< all positions at once
  count,     ///< in so many equal pieces
  tokens,    ///< so many positions at a time
  by_width,  ///< as many at a time that they take about the memory of what the head reads
  on_chip,   ///< tiles in registers: none of them reaches memory
};

struct LossForm {
  LossPieces pieces = LossPieces::whole;
  std::int64_t size = 0;  ///< of pieces: how many, or positions of each
  /// What a piece makes is kept until its backward, as autograd does where nothing tells it otherwise; else its
  /// gradients are made beside it, or it is made again.
  bool kept = false;
  bool whole_product = false;  ///< the head makes all logits, and what is in pieces is the loss on them

  friend bool operator==(const LossForm&, const LossForm&) = default;
};

/// The part of the logits that lies in memory at once: 0 to 1. `hidden`: width of what the head reads.
double made_at_once(const LossForm& form, double tokens, double vocabulary, double hidden);

}  // namespace stepcast
