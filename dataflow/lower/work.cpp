// Shapes, FLOPs and bytes of one launch on one rank.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "dataflow/attended_keys.h"
#include "dataflow/lower/fuse.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// A weight gradient is added into its accumulator: read and write of fp32 beside a bf16 product, 1.5 accumulator sizes
/// (fits of accumulating weight-gradient GEMMs on A100 and H100 put it at 6 bytes per element with fp32 accumulators).
constexpr double accumulate_factor = 1.5;

/// `joins_k`: input gradients of several products over one input add up along k; others lie side by side along n.
struct Product {
  double m = 1, n = 1, k = 1, batch = 1, output_bytes = 2;
  bool joins_k = false;
};

bool walks(const Access& access, int loop) { return contains(access.loops, loop); }

/// O += A*B as m x n x k, `batch` times: m in A and O, n in B and O, k in A and B, batch in all three.
Product shape_of(const FuseContext& c, int op, const Access& a, const Access& b, const Access& o) {
  Product p;
  for (int loop : loops_of(c.block.operators[op])) {
    const double extent = local_extent(c.network, loop, c.splits[op], c.mesh);
    const bool in_a = walks(a, loop), in_b = walks(b, loop), in_o = walks(o, loop);
    if (in_a && in_b && in_o) p.batch *= extent;
    else if (in_a && in_o) p.m *= extent;
    else if (in_b && in_o) p.n *= extent;
    else p.k *= extent;
  }
  return p;
}

/// The two gradients of a product are products of the same loops with the roles turned.
Product product_of(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  const Access &a = op.inputs[0], &b = op.inputs[1], &o = op.output;
  if (item.kind == PlacedKind::compute) {
    Product p = shape_of(c, item.op, a, b, o);
    p.output_bytes = c.network.tensors[o.tensor].bytes_per_element;
    return p;
  }
  const bool of_a = item.writes[0] >= 0;
  Product p = of_a ? shape_of(c, item.op, o, b, a) : shape_of(c, item.op, a, o, b);
  const Tensor& target = c.network.tensors[(of_a ? a : b).tensor];
  p.joins_k = of_a;
  const bool accumulates = target.role == TensorRole::weight && !c.stack.accumulates_apart;
  p.output_bytes = accumulates ? accumulate_factor * c.stack.gradient_bytes : target.bytes_per_element;
  return p;
}

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

KernelWork blank(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work;
  work.label = (op.kernel.empty() ? op.name : op.kernel) + suffix(item);
  work.pass = item.pass;
  work.keeps_width = keeps_width(op) && !(c.stack.narrow_head && has_tag(op, "head"));
  if (has_tag(op, "expert")) work.imbalance = c.experts.imbalance;
  const bool route = op.kind == OperatorKind::route;
  work.routed = route || has_tag(op, "expert") || has_tag(op, "shared");
  work.host_calls = route ? c.stack.calls_per_dispatch : c.stack.calls_per_kernel;
  work.element_bytes = c.network.tensors[op.output.tensor].bytes_per_element;
  if (has_tag(op, "expert")) work.experts = static_cast<double>(c.experts.count);
  if (op.adapts) set_adapter_calls(c, op, work);
  return work;
}

/// Kernels per local expert where each has a product of its own; its left operand is cast first under a narrow plan:
/// one call, which starts the search for the largest element and the cast (TransformerEngine, split_quantize).
double expert_calls(const FuseContext& c, const PlacedItem& item) {
  constexpr double casts = 1;
  const bool cast = c.narrow_bytes > 0 && item.pass != Pass::weight_grad;
  return c.stack.calls_per_expert * (cast ? 1 + casts : 1);
}

/// Software that runs experts one by one adds their last bias, scaled by the gate, outside of kernels: a product, a sum
/// and a concatenation of rows in fp32 and the cast of the result, 28 bytes per element in place of 4; in backward 36
/// in place of the 2 that a sum over rows reads (Megatron-LM d98e8a6 megatron/core/transformer/moe/experts.py,
/// _apply_bias).
bool eager_bias(const FuseContext& c, const Operator& op) {
  return op.function == "bias" && op.kernel.empty() && has_tag(op, "expert") && c.stack.calls_per_expert > 0;
}

/// Joins products over one input (Q, K, V; gate and up) into one launch; others stay launches of their own.
void add_products(const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works) {
  const std::size_t first = works.size();
  for (const PlacedItem* item : members) {
    const Product p = product_of(c, *item);
    const double bytes_per_element = c.network.tensors[c.block.operators[item->op].output.tensor].bytes_per_element;
    const auto bytes = [&](double m, double n, double k, double batch) {
      return Bytes(batch * ((m * k + k * n) * bytes_per_element + m * n * p.output_bytes));
    };
    const double flops = 2 * p.m * p.n * p.k * p.batch;
    KernelWork* joined = nullptr;
    for (std::size_t w = first; w < works.size() && !joined; ++w) {
      KernelWork& work = works[w];
      if (work.kernel != KernelClass::gemm || work.batch != p.batch) continue;
      if (work.m != p.m || (p.joins_k ? work.n != p.n : work.k != p.k)) continue;
      (p.joins_k ? work.k : work.n) += p.joins_k ? p.k : p.n;
      work.bytes = bytes(work.m, work.n, work.k, work.batch);
      joined = &work;
    }
    if (!joined) {
      KernelWork work = blank(c, *item);
      work.kernel = KernelClass::gemm;
      work.m = p.m;
      work.n = p.n;
      work.k = p.k;
      work.batch = p.batch;
      // In an unfused attention core the head size is the small one of n and k.
      if (has_tag(c.block.operators[item->op], "attn.core")) work.head_dim = std::min({p.m, p.n, p.k});
      work.bytes = bytes(p.m, p.n, p.k, p.batch);
      if (has_tag(c.block.operators[item->op], "expert")) work.host_calls += expert_calls(c, *item) * p.batch;
      works.push_back(std::move(work));
      joined = &works.back();
    }
    joined->flops += Flops(flops);
    joined->useful += Flops(flops / repeats(c, item->op));
  }
}

/// Without an accumulating product autograd hands out each weight gradient whole, and a hook adds it to its
/// accumulator: the gradient is read once, the accumulator read and written (Megatron-LM's main_grad.add_(grad)).
void add_accumulations(const FuseContext& c, std::size_t first, std::vector<KernelWork>& works) {
  for (std::size_t w = first, end = works.size(); w < end; ++w) {
    if (works[w].pass != Pass::weight_grad || works[w].kernel != KernelClass::gemm) continue;
    KernelWork added;
    added.label = works[w].label + " added";
    added.pass = Pass::weight_grad;
    added.element_bytes = works[w].element_bytes;
    added.bytes =
        Bytes(works[w].batch * works[w].m * works[w].n * (works[w].element_bytes + 2 * c.stack.gradient_bytes));
    works.push_back(std::move(added));
  }
}

/// Whether ranks keep the weight `input` otherwise than this operator uses it: it is gathered for each pass.
bool is_gathered(const FuseContext& c, int o, const Access& input) {
  return std::ranges::any_of(c.placed.chains, [&](const WeightChain& chain) {
    return chain.tensor == input.tensor && !(chain.home == placement_of(input, c.splits[o], c.mesh, false));
  });
}

/// Under a narrow plan a projection's weight that was gathered wide is cast anew in each pass that multiplies by it,
/// for nothing keeps the narrow copy (add_narrow_weights in buffers.cpp): each element is read and written once.
/// Software whose casts are kernels of their own has one for that, too. Other software gathers narrow weights
/// (Megatron-Bridge's fp8_param_gather, torchao's enable_fsdp_float8_all_gather), or it is left out.
void add_weight_casts(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works) {
  double bytes = 0;
  for (const PlacedItem* item : members) {
    const Operator& op = c.block.operators[item->op];
    if (item->pass == Pass::weight_grad || !is_cast(op)) continue;
    for (const Access& input : op.inputs) {
      const Tensor& tensor = c.network.tensors[input.tensor];
      if (tensor.role != TensorRole::weight || !is_gathered(c, item->op, input)) continue;
      const double local =
          local_elements(c.network, input.tensor, placement_of(input, c.splits[item->op], c.mesh, false), c.mesh);
      bytes += local * (tensor.bytes_per_element + c.narrow_bytes);
    }
  }
  if (bytes == 0) return;
  KernelWork cast;
  cast.label = works.back().label + " cast";
  cast.pass = works.back().pass;
  cast.routed = works.back().routed;
  cast.bytes = Bytes(bytes);
  works.push_back(std::move(cast));
}

/// Causal work per rank, slowest over mean, when the queries are split (rule 7). In windows and chunks that are shorter
/// than a rank's part all queries but the first see as many keys.
double causal_imbalance(const FuseContext& c, int o) {
  const Operator& op = c.block.operators[o];
  if (op.domain != Domain::causal) return 1;
  double parts = 1;
  bool balanced = true;
  for (std::size_t a = 0; a < c.mesh.atoms.size(); ++a) {
    if (c.splits[o].loop[a] != op.query_loop) continue;
    parts *= static_cast<double>(c.mesh.atoms[a].size);
    const auto* par = std::get_if<ParStatement>(&c.statements[c.splits[o].statement[a]].body);
    balanced = balanced && par && par->layout.kind != Layout::Kind::block;
  }
  return balanced ? 1 : 2 - 1 / parts;
}

/// Queries are [b, s, heads..., d], keys [b, t, heads of their own..., d].
void add_heads(const FuseContext& c, const PlacedItem& item, KernelWork& work) {
  const Operator& op = c.block.operators[item.op];
  const auto extent = [&](int loop) { return local_extent(c.network, loop, c.splits[item.op], c.mesh); };
  const std::vector<int>&q = op.inputs[0].loops, &k = op.inputs[1].loops;
  work.sequences = extent(q.front());
  work.queries = extent(op.query_loop);
  work.heads = work.kv_heads = 1;
  for (std::size_t i = 2; i + 1 < q.size(); ++i) work.heads *= extent(q[i]);
  for (std::size_t i = 2; i + 1 < k.size(); ++i) work.kv_heads *= extent(k[i]);
}

Bytes touched(const FuseContext& c, const PlacedItem& item) {
  double bytes = 0;
  for (const auto* side : {&item.reads, &item.writes})
    for (int copy : *side)
      if (copy >= 0) bytes += c.placed.copies[copy].bytes;
  return Bytes(bytes);
}

KernelWork attention(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank(c, item);
  work.kernel = KernelClass::attention;
  work.backward = item.kind == PlacedKind::gradient;
  double points = 1;
  for (int loop : loops_of(op))
    if (!contains(op.whole_loops, loop)) points *= local_extent(c.network, loop, c.splits[item.op], c.mesh);
  const double keys = local_extent(c.network, op.key_loop, c.splits[item.op], c.mesh);
  // Of the whole sequence: a rank that has a part of the queries has one like all others.
  const auto asked = static_cast<double>(c.network.dims[op.query_loop].extent),
             all = static_cast<double>(c.network.dims[op.key_loop].extent);
  work.key_reach = {op.domain, op.reach, op.beside};
  const auto [seen, walked] = attended_keys(work.key_reach, keys, asked * keys / all);
  points *= walked / keys;
  // Forward: Q K and P V. Backward: five products instead of two (scores again, dV, dP, dQ, dK).
  const double query = static_cast<double>(c.network.dims[op.inputs.front().loops.back()].extent),
               value = static_cast<double>(c.network.dims[op.output.loops.back()].extent);
  const double flops = 2 * points * (work.backward ? 3 * query + 2 * value : query + value);
  work.flops = Flops(flops);
  work.useful = Flops(flops * (seen / walked) / repeats(c, item.op));
  work.sequence = keys;
  if (op.domain != Domain::all && op.domain != Domain::causal) work.walked = walked;
  add_heads(c, item, work);
  work.head_dim = query;
  work.value_dim = value;
  const auto holds_keys = [&](const Access& access) {
    return contains(access.loops, op.key_loop) && !contains(access.loops, op.query_loop);
  };
  work.values_are_keys = std::ranges::count_if(op.inputs, holds_keys) == 1;
  work.imbalance = causal_imbalance(c, item.op);
  work.bytes = touched(c, item);
  return work;
}

/// Backward runs the chunks again and makes two products of each (as does attention): three times the FLOPs of forward.
constexpr double scan_backward_products = 3;

/// Scores of all keys by each of the indexer's heads, which is a product, and the best of each row; in backward the
/// loss that teaches it makes the scores again and their two gradients.
KernelWork index(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank(c, item);
  work.kernel = KernelClass::attention;
  work.backward = item.kind == PlacedKind::gradient;
  const auto extent = [&](int loop) { return local_extent(c.network, loop, c.splits[item.op], c.mesh); };
  double points = 1;
  for (int loop : op.inputs.front().loops) points *= extent(loop);
  const double keys = extent(op.key_loop);
  work.key_reach.domain = Domain::causal;
  const Tensor& of_keys = c.network.tensors[op.inputs[1].tensor];
  const bool cached = of_keys.role == TensorRole::cache;
  // Of the queries of an iteration in rows of keys, which may stand for several positions each.
  const auto asked = static_cast<double>(c.network.dims[op.query_loop].extent),
             all = static_cast<double>(c.network.dims[c.network.find_dim("t")].extent);
  const double seen = attended_keys(work.key_reach, keys, cached ? asked * keys / all : keys).seen;
  constexpr double backward_products = 3;
  work.flops = Flops(2 * points * seen * (work.backward ? backward_products : 1));
  work.useful = Flops(work.flops.value() / repeats(c, item.op));
  work.sequence = keys;
  work.head_dim = extent(op.inputs.front().loops.back());
  work.bytes = touched(c, item);
  if (cached) {
    add_heads(c, item, work);
    work.kept = extent(op.output.loops.back());
    for (std::size_t i = 2; i + 1 < op.output.loops.size(); ++i) work.choices *= extent(op.output.loops[i]);
    work.key_element_bytes = of_keys.bytes_per_element;
    work.launches = 2;  // scores, and the best of them
  }
  return work;
}

/// Values are [b, s, heads..., p], keys [b, s, groups..., n].
KernelWork scan(const FuseContext& c, const PlacedItem& item, const ScanFunction& function) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank(c, item);
  work.kernel = KernelClass::scan;
  work.backward = item.kind == PlacedKind::gradient;
  const auto extent = [&](int loop) { return local_extent(c.network, loop, c.splits[item.op], c.mesh); };
  const auto elements = [&](const Access& access) {
    double all = 1;
    for (int loop : access.loops) all *= extent(loop);
    return all;
  };
  const Access &values = op.inputs[0], &keys = op.inputs[1];
  ScanShape& shape = work.scan;
  shape.function = &function;
  shape.sequences = extent(values.loops[0]);
  shape.positions = extent(values.loops[1]);
  const double rows = shape.sequences * shape.positions;
  shape.value_size = extent(values.loops.back());
  shape.key_size = extent(keys.loops.back());
  shape.heads = elements(values) / rows / shape.value_size;
  shape.groups = elements(keys) / rows / shape.key_size;
  shape.chunk = static_cast<double>(op.chunk);
  const double flops =
      scan_flops(function, {elements(values), elements(keys), shape.value_size, shape.key_size, shape.chunk});
  work.flops = Flops(flops * (work.backward ? scan_backward_products : 1));
  work.useful = Flops(work.flops.value() / repeats(c, item.op));
  work.bytes = touched(c, item);
  return work;
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

/// Addition and bias hand their gradient on unchanged; only a bias's own gradient is summed.
bool hands_gradient_on(const FuseContext& c, const PlacedItem& item) {
  const std::string& function = c.block.operators[item.op].function;
  return item.kind == PlacedKind::gradient && item.pass != Pass::weight_grad &&
         (function == "add" || function == "bias");
}

/// Of a tensor that an operator writes: behind what stands in a cache the new rows alone.
double written_share(const FuseContext& c, const Operator& op) {
  if (c.network.tensors[op.output.tensor].role != TensorRole::cache) return 1;
  return c.network.elements(op.inputs[0].tensor) / c.network.elements(op.output.tensor);
}

/// Reads from outside plus writes to outside; what stays inside the launch costs nothing.
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
    const double side = backward_reads(op).mask_bytes_per_output;
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
  KernelWork work = blank(c, *members.front());
  work.kernel = KernelClass::pointwise;
  for (const PlacedItem* item : members) bytes += sorting_bytes(c, *item);
  work.bytes = Bytes(bytes * split.passes);
  work.launches = static_cast<int>(std::max<std::int64_t>(1, split.kernels));
  if (eager_bias(c, c.block.operators[members.front()->op])) {
    constexpr double forward = 28.0 / 4, backward = 36.0 / 2;
    work.bytes = work.bytes * (members.front()->kind == PlacedKind::gradient ? backward : forward);
  }
  works.push_back(std::move(work));
  return true;
}

/// An embedding reads and writes the touched rows only; a picked logit touches one element per row of labels.
KernelWork look_up(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank(c, item);
  work.kernel = KernelClass::lookup;
  const Placement place = placement_of(op.output, c.splits[item.op], c.mesh, false);
  const double rows = local_elements(c.network, op.output.tensor, place, c.mesh) *
                      c.network.tensors[op.output.tensor].bytes_per_element;
  // Scatter-add reads and writes fp32 or accumulator rows besides reading the gradient.
  work.bytes = Bytes(item.kind == PlacedKind::gradient ? 3 * rows : 2 * rows);
  return work;
}

/// Fused attention and scans. Their backward kernels make the gradients of their few weights, too.
void add_cores(const FuseContext& c, const std::vector<const PlacedItem*>& cores, std::vector<KernelWork>& works) {
  for (const PlacedItem* item : cores) {
    if (item->pass == Pass::weight_grad) continue;
    const Operator& op = c.block.operators[item->op];
    const ScanFunction* function = op.kind == OperatorKind::attention ? nullptr : find_scan(op.function);
    works.push_back(function != nullptr ? scan(c, *item, *function) : attention(c, *item));
  }
}

}  // namespace

std::string shape_text(const ScanShape& scan) {
  return fmt::format("{:.0f} sequences of {:.0f}, {:.0f} heads of {:.0f} x {:.0f}", scan.sequences, scan.positions,
      scan.heads, scan.value_size, scan.key_size);
}

bool keeps_width(const Operator& op) {
  return has_tag(op, "attn.core") || has_tag(op, "router") || has_tag(op, "head");
}

bool is_cast(const Operator& op) {
  return op.kind == OperatorKind::einsum && op.inputs.size() == 2 && !keeps_width(op);
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
  std::vector<const PlacedItem*> products, pointwise, cores;
  for (const PlacedItem* item : launch.members) {
    const Operator& op = c.block.operators[item->op];
    if (op.kind == OperatorKind::einsum && op.inputs.size() == 2) products.push_back(item);
    else if (op.kind == OperatorKind::attention) cores.push_back(item);
    else if (op.kind == OperatorKind::opaque && find_scan(op.function) != nullptr) cores.push_back(item);
    else if (op.kind == OperatorKind::opaque && op.function == "index") works.push_back(index(c, *item));
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
  return works.size() > before;
}

}  // namespace stepcast::dataflow
