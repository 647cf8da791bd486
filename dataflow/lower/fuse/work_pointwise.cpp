// Launches that are priced by the bytes they touch: pointwise operators and look-ups.
#include <algorithm>

#include "dataflow/lower/fuse/work.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Software that runs experts one by one adds their last bias, scaled by the gate, outside of kernels: a product, a sum
/// and a concatenation of rows in fp32 and the cast of the result, 28 bytes per element in place of 4; in backward 36
/// in place of the 2 that a sum over rows reads (Megatron-LM d98e8a6 megatron/core/transformer/moe/experts.py,
/// _apply_bias).
bool eager_bias(const FuseContext& c, int o) {
  const Operator& op = c.block.operators[o];
  return c.facts.operators[o].expert && op.function == "bias" && op.kernel.empty() && c.stack.calls_per_expert > 0;
}

/// Bytes that an exchange of rows adds on the device: received rows are sorted by expert (sort_chunks_by_idxs), and
/// under a narrow plan copied again with padding for the products' tiles (quantization_padding); on the way back both
/// are undone (Megatron-LM d98e8a6 megatron/core/transformer/moe/token_dispatcher.py MoEAlltoAllTokenDispatcher,
/// experts.py). Kernels that send tokens (DeepEP, HybridEP) place them at once.
double sorting_bytes(const FuseContext& c, const PlacedItem& item) {
  if (c.block.operators[item.op].kind != OperatorKind::route || c.stack.expert_dispatch != Dispatch::rows) return 0;
  double rows = 0;
  for (const auto* side : {&item.reads, &item.writes})
    for (int copy : *side)
      if (copy >= 0) rows = std::max(rows, c.placed.copies[copy].bytes);
  return 2 * rows * (c.narrow_bytes > 0 ? 2 : 1);
}

/// What the members come to where the software runs them operation by operation: the most passes of one, the kernels
/// of all.
SplitFunction split_of(const FuseContext& c, const std::vector<const PlacedItem*>& members) {
  SplitFunction all;
  for (const PlacedItem* item : members) {
    const auto split =
        std::ranges::find(c.stack.one_by_one, c.block.operators[item->op].function, &SplitFunction::function);
    if (split == c.stack.one_by_one.end()) continue;
    all.passes = std::max(all.passes, split->passes);
    all.kernels += split->kernels;
  }
  return all;
}

/// Addition and bias hand their gradient on unchanged, unless it goes to something of another type; only a bias's own
/// gradient is summed.
bool hands_gradient_on(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  if (item.kind != PlacedKind::gradient || item.pass == Pass::weight_grad) return false;
  const double width = c.network.tensors[op.output.tensor].bytes_per_element;
  const auto alike = [&](int copy) {
    return copy < 0 || c.network.tensors[c.placed.copies[copy].tensor].bytes_per_element == width;
  };
  return (op.function == "add" || op.function == "bias") && std::ranges::all_of(item.writes, alike);
}

/// Of a tensor that an operator writes: behind what stands in a cache the new rows alone.
double written_share(const FuseContext& c, const Operator& op) {
  if (c.network.tensors[op.output.tensor].role != TensorRole::cache) return 1;
  return c.network.elements(op.inputs[0].tensor) / c.network.elements(op.output.tensor);
}

}  // namespace

bool add_pointwise(const FuseContext& c, const std::vector<const PlacedItem*>& members, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works) {
  std::vector<int> written, read;
  std::vector<std::pair<int, Placement>> gradients;
  double bytes = 0;
  for (const PlacedItem* item : members)
    for (int copy : item->writes)
      if (copy >= 0 && !hands_gradient_on(c, *item)) written.push_back(copy);
  for (const PlacedItem* item : members) {
    if (hands_gradient_on(c, *item)) continue;
    const Operator& op = c.block.operators[item->op];
    const double side = c.facts.operators[item->op].mask_bytes_per_output;
    if (side > 0)
      bytes += side * local_elements(c.network, op.output.tensor,
                          placement_of(op.output, c.splits[item->op], c.mesh, true), c.mesh);
    for (int copy : item->reads) {
      if (copy < 0) continue;
      const int r = root[copy];
      if (contains(written, copy) || contains(written, r) || contains(read, r)) continue;
      read.push_back(r);
      bytes += c.placed.copies[copy].bytes;
    }
    for (int copy : item->writes) {
      if (copy < 0 || !read_outside[copy]) continue;
      const Copy& made = c.placed.copies[copy];
      if (made.gradient) {  // contributions of one launch to one tensor are summed inside it
        const auto same = std::ranges::find(gradients, std::pair{made.tensor, made.place});
        if (same != gradients.end()) continue;
        gradients.emplace_back(made.tensor, made.place);
      }
      bytes += made.bytes * written_share(c, op);
    }
  }
  if (bytes == 0) return false;
  const SplitFunction split = split_of(c, members);
  KernelWork work = blank_work(c, *members.front());
  work.kernel = KernelClass::pointwise;
  for (const PlacedItem* item : members) bytes += sorting_bytes(c, *item);
  work.bytes = Bytes(bytes * split.passes);
  work.launches = static_cast<int>(std::max<std::int64_t>(1, split.kernels));
  if (eager_bias(c, members.front()->op)) {
    constexpr double forward = 28.0 / 4, backward = 36.0 / 2;
    work.bytes = work.bytes * (members.front()->kind == PlacedKind::gradient ? backward : forward);
  }
  size_convolution(c, members, work);
  works.push_back(std::move(work));
  return true;
}

// The input is [b, s, channels...], the weight [channels..., taps].
void size_convolution(const FuseContext& c, const std::vector<const PlacedItem*>& members, KernelWork& work) {
  double positions = 0, channels = 0, taps = 0;
  for (const PlacedItem* item : members) {
    const Operator& op = c.block.operators[item->op];
    if (op.function != "conv" || item->kind != PlacedKind::compute || op.inputs.size() < 2) return;
    const auto extent = [&](int loop) { return local_extent(c.network, loop, c.splits[item->op], c.mesh); };
    const std::vector<int>& loops = op.inputs[0].loops;
    if (loops.size() < 3 || op.inputs[1].loops.empty()) return;
    positions = extent(loops[0]) * extent(loops[1]), taps = extent(op.inputs[1].loops.back());
    double own = 1;
    for (std::size_t i = 2; i < loops.size(); ++i) own *= extent(loops[i]);
    channels += own;
  }
  work.m = positions, work.n = channels, work.k = taps;
}

// An embedding reads and writes the touched rows only; a picked logit touches one element per row of labels.
KernelWork look_up(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank_work(c, item);
  work.kernel = KernelClass::lookup;
  const Placement place = placement_of(op.output, c.splits[item.op], c.mesh, false);
  const double rows = local_elements(c.network, op.output.tensor, place, c.mesh) *
                      c.network.tensors[op.output.tensor].bytes_per_element;
  // Scatter-add reads and writes fp32 or accumulator rows besides reading the gradient.
  work.bytes = Bytes(item.kind == PlacedKind::gradient ? 3 * rows : 2 * rows);
  return work;
}

}  // namespace stepcast::dataflow
