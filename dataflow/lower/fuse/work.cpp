// Shapes, FLOPs and bytes of one launch on one rank.
#include "dataflow/lower/fuse/work.h"

#include <algorithm>

namespace stepcast::dataflow {
namespace {

const char* suffix(const PlacedItem& item) {
  if (item.kind == PlacedKind::compute) return item.pass == Pass::recompute ? " again" : "";
  return item.pass == Pass::weight_grad ? " dW" : " dX";
}

/// An adapter's product is one launch beside the module that it adapts, and the second of them is scaled by another
/// (huggingface/peft src/peft/tuners/lora/layer.py, Linear.forward; NVIDIA-NeMo/Megatron-Bridge
/// src/megatron/bridge/peft/lora_layers.py, LoRALinear.forward). Of the gap between kernels, which the calls of a
/// stack's own modules make, it has the share of its calls.
void set_adapter_calls(const FuseContext& c, const Operator& op, KernelWork& work) {
  const double calls = op.name.ends_with("_b") ? 2 : 1;
  work.host_calls = std::min(c.stack.calls_per_kernel, calls);
  work.gap_share = work.host_calls / std::max(1.0, c.stack.calls_per_kernel);
}

}  // namespace

KernelWork blank_work(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  const OperatorFacts& facts = c.facts.operators[item.op];
  KernelWork work;
  work.label = c.label([&] { return (op.kernel.empty() ? op.name : op.kernel) + suffix(item); });
  work.pass = item.pass;
  work.keeps_width = facts.keeps_width && !(c.stack.narrow_head && facts.head);
  if (facts.expert) work.imbalance = c.experts.imbalance;
  const bool route = op.kind == OperatorKind::route;
  work.routed = route || facts.expert || facts.shared;
  work.host_calls = route ? c.stack.calls_per_dispatch : c.stack.calls_per_kernel;
  work.element_bytes = c.network.tensors[op.output.tensor].bytes_per_element;
  if (facts.expert) work.experts = static_cast<double>(c.experts.count);
  if (op.adapts) set_adapter_calls(c, op, work);
  return work;
}

Bytes touched_bytes(const FuseContext& c, const PlacedItem& item) {
  double bytes = 0;
  for (const auto* side : {&item.reads, &item.writes})
    for (int copy : *side)
      if (copy >= 0) bytes += c.placed.copies[copy].bytes;
  return Bytes(bytes);
}

double repeats(const FuseContext& c, int op) {
  double ranks = 1;
  for (std::size_t a = 0; a < c.mesh.atoms.size(); ++a)
    if (!c.mesh.atoms[a].stage && c.splits[op].loop[a] < 0) ranks *= static_cast<double>(c.mesh.atoms[a].size);
  return ranks;
}

bool add_works(const FuseContext& c, const KernelStart& launch, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works) {
  const std::size_t before = works.size();
  if (mixes_streams(c, launch.members)) {
    add_mixing(c, launch.members, root, read_outside, works);
    return works.size() > before;
  }
  std::vector<const PlacedItem*> products, pointwise, cores;
  for (const PlacedItem* item : launch.members) {
    const Operator& op = c.block.operators[item->op];
    if (op.kind == OperatorKind::einsum && op.inputs.size() == 2) products.push_back(item);
    else if (op.kind == OperatorKind::attention) cores.push_back(item);
    else if (op.kind == OperatorKind::opaque && find_scan(op.function) != nullptr) cores.push_back(item);
    else if (op.kind == OperatorKind::opaque && op.function == "index") works.push_back(index_work(c, *item));
    else if (op.kind == OperatorKind::opaque && (op.function == "part" || op.function == "parts")) continue;
    else if (op.kind == OperatorKind::select && c.network.tensors[op.inputs[0].tensor].role == TensorRole::weight)
      works.push_back(look_up(c, *item));
    else pointwise.push_back(item);
  }
  add_cores(c, cores, works);
  const std::size_t first = works.size();
  add_products(c, products, works);
  if (c.narrow_bytes > 0 && c.stack.casts_apart) add_weight_casts(c, products, works);
  if (c.stack.accumulates_apart) add_accumulations(c, first, works);
  // Pointwise operators beside a product are its epilogue.
  if (products.empty() && !pointwise.empty()) add_pointwise(c, pointwise, root, read_outside, works);
  if (c.stack.accumulates_apart) add_cast_accumulations(c, pointwise, works);
  return works.size() > before;
}

}  // namespace stepcast::dataflow
