// The logits of a block with a loss: which tensors they are, and how much of them lies in memory at once.
#pragma once

#include "dataflow/lower/fuse/fuse.h"

namespace stepcast::dataflow {

class LogitsInMemory {
 public:
  explicit LogitsInMemory(const FuseContext& c);

  /// Of a copy of a tensor that lives from one item to another of the same pass: the part that is there at once.
  [[nodiscard]] double passing(int tensor, bool gradient) const;
  /// Of what is kept from forward to backward.
  [[nodiscard]] double kept(int tensor) const;

 private:
  [[nodiscard]] bool are(int tensor) const;

  const FuseContext& c_;
  int vocabulary_ = -1;  ///< dim; -1: no loss here, or nothing of it in pieces
  int product_ = -1;     ///< tensor that the head makes
  double part_ = 1;
};

}  // namespace stepcast::dataflow
