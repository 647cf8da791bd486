#include "dataflow/lower/fuse/logits.h"

#include <algorithm>

#include "dataflow/place/placement.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

bool picks_target(const Operator& op) { return op.kind == OperatorKind::select && has_tag(op, "loss"); }

}  // namespace

LogitsInMemory::LogitsInMemory(const FuseContext& c) : c_(c) {
  if (c.stack.loss.pieces == LossPieces::whole) return;
  const auto& operators = c.block.operators;
  const auto loss = std::ranges::find_if(operators, picks_target);
  const auto head = std::ranges::find_if(
      operators, [](const Operator& op) { return op.kind == OperatorKind::einsum && has_tag(op, "head"); });
  if (loss == operators.end() || head == operators.end()) return;
  vocabulary_ = c.network.tensors[loss->inputs.front().tensor].dims.back();
  product_ = head->output.tensor;
  const OperatorSplit& split = c.splits[static_cast<std::size_t>(head - operators.begin())];
  double tokens = 1, words = 1, hidden = 1;
  for (const int loop : head->output.loops)
    (loop == head->output.loops.back() ? words : tokens) *= local_extent(c.network, loop, split, c.mesh);
  for (const int loop : head->inputs.front().loops)
    if (!contains(head->output.loops, loop)) hidden *= local_extent(c.network, loop, split, c.mesh);
  part_ = made_at_once(c.stack.loss, tokens, words, hidden);
}

bool LogitsInMemory::are(int tensor) const {
  const Tensor& one = c_.network.tensors[tensor];
  return vocabulary_ >= 0 && one.role == TensorRole::activation && contains(one.dims, vocabulary_);
}

double LogitsInMemory::passing(int tensor, bool gradient) const {
  if (!are(tensor)) return 1;
  return c_.stack.loss.whole_product && !gradient && tensor == product_ ? 1 : part_;
}

double LogitsInMemory::kept(int tensor) const { return c_.stack.loss.kept || !are(tensor) ? 1 : part_; }

}  // namespace stepcast::dataflow
