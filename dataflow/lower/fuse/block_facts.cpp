#include "dataflow/lower/fuse/block_facts.h"

#include <algorithm>

namespace stepcast::dataflow {
namespace {

OperatorFacts facts_of(const Operator& op) {
  OperatorFacts facts;
  facts.expert = has_tag(op, "expert");
  facts.shared = has_tag(op, "shared");
  facts.head = has_tag(op, "head");
  facts.core = has_tag(op, "attn.core");
  facts.keeps_width = facts.core || facts.head || has_tag(op, "router");
  facts.is_cast = op.kind == OperatorKind::einsum && op.inputs.size() == 2 && !facts.keeps_width;
  facts.loops = loops_of(op);
  return facts;
}

BlockFacts facts_of(const Block& block, std::size_t tensors) {
  BlockFacts facts;
  facts.tensors.resize(tensors);
  // By tensor: backward of some operator reads it, and of one that is not cast.
  std::vector<char> read(tensors, 0), read_wide(tensors, 0);
  for (std::size_t o = 0; o < block.operators.size(); ++o) {
    const Operator& op = block.operators[o];
    OperatorFacts& here = facts.operators.emplace_back(facts_of(op));
    const BackwardReads reads = backward_reads(op);
    here.mask_bytes_per_output = reads.mask_bytes_per_output;
    const auto note = [&](int tensor) { (here.is_cast ? read : read_wide)[static_cast<std::size_t>(tensor)] = 1; };
    if (reads.output) note(op.output.tensor);
    for (const int input : reads.inputs) note(op.inputs[static_cast<std::size_t>(input)].tensor);
    for (const Access& input : op.inputs)
      if (TensorFacts& tensor = facts.tensors[input.tensor]; tensor.reader < 0) tensor.reader = static_cast<int>(o);
    if (op.inputs.empty()) continue;
    TensorFacts& first = facts.tensors[op.inputs.front().tensor];
    const bool look_up = op.kind == OperatorKind::select;
    first.looked_up = first.looked_up || look_up;
    first.read_by_loss = first.read_by_loss || (look_up && has_tag(op, "loss"));
    first.combined = first.combined || (op.kind == OperatorKind::route && op.function == "combine");
  }
  for (std::size_t tensor = 0; tensor < tensors; ++tensor)
    facts.tensors[tensor].kept_narrow = read[tensor] != 0 && read_wide[tensor] == 0;
  return facts;
}

}  // namespace

std::shared_ptr<const NetworkFacts> facts_of(const Network& network) {
  auto facts = std::make_shared<NetworkFacts>();
  for (const Block& block : network.blocks) facts->push_back(facts_of(block, network.tensors.size()));
  return facts;
}

}  // namespace stepcast::dataflow
