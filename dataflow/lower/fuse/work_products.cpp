// Products: shapes, what joins into one launch, and the passes that stand beside them.
#include <algorithm>

#include "dataflow/lower/fuse/work.h"
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
  for (int loop : c.facts.operators[op].loops) {
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

/// Kernels per local expert where each has a product of its own; its left operand is cast first under a narrow plan:
/// one call, which starts the search for the largest element and the cast (TransformerEngine, split_quantize).
double expert_calls(const FuseContext& c, const PlacedItem& item) {
  constexpr double casts = 1;
  const bool cast = c.narrow_bytes > 0 && item.pass != Pass::weight_grad;
  return c.stack.calls_per_expert * (cast ? 1 + casts : 1);
}

/// Whether ranks keep the weight `input` otherwise than this operator uses it: it is gathered for each pass.
bool is_gathered(const FuseContext& c, int o, const Access& input) {
  return std::ranges::any_of(c.placed.chains, [&](const WeightChain& chain) {
    return chain.tensor == input.tensor && !(chain.home == placement_of(input, c.splits[o], c.mesh, false));
  });
}

}  // namespace

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
      KernelWork work = blank_work(c, *item);
      work.kernel = KernelClass::gemm;
      work.m = p.m;
      work.n = p.n;
      work.k = p.k;
      work.batch = p.batch;
      // In an unfused attention core the head size is the small one of n and k.
      if (c.facts.operators[item->op].core) work.head_dim = std::min({p.m, p.n, p.k});
      work.bytes = bytes(p.m, p.n, p.k, p.batch);
      if (c.facts.operators[item->op].expert) work.host_calls += expert_calls(c, *item) * p.batch;
      works.push_back(std::move(work));
      joined = &works.back();
    }
    joined->flops += Flops(flops);
    joined->useful += Flops(flops / repeats(c, item->op));
  }
}

// Without an accumulating product autograd hands out each weight gradient whole, and a hook adds it to its
// accumulator: the gradient is read once, the accumulator read and written (Megatron-LM's main_grad.add_(grad)).
void add_accumulations(const FuseContext& c, std::size_t first, std::vector<KernelWork>& works) {
  for (std::size_t w = first, end = works.size(); w < end; ++w) {
    if (works[w].pass != Pass::weight_grad || works[w].kernel != KernelClass::gemm) continue;
    KernelWork added;
    added.label = c.label([&] { return works[w].label + " added"; });
    added.pass = Pass::weight_grad;
    added.element_bytes = works[w].element_bytes;
    added.bytes =
        Bytes(works[w].batch * works[w].m * works[w].n * (works[w].element_bytes + 2 * c.stack.gradient_bytes));
    works.push_back(std::move(added));
  }
}

void add_cast_accumulations(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works) {
  for (const PlacedItem* item : members) {
    const Operator& op = c.block.operators[item->op];
    if (item->pass != Pass::weight_grad || op.function != "cast") continue;
    const int weight = op.inputs.front().tensor;
    KernelWork added = blank_work(c, *item);
    added.label += " added";
    added.bytes = Bytes(
        local_elements(c.network, weight, placement_of(op.inputs.front(), c.splits[item->op], c.mesh, false), c.mesh) *
        (c.network.tensors[weight].bytes_per_element + 2 * c.stack.gradient_bytes));
    works.push_back(std::move(added));
  }
}

// Under a narrow plan a projection's weight that was gathered wide is cast anew in each pass that multiplies by it,
// for nothing keeps the narrow copy (add_narrow_weights in buffers.cpp): each element is read and written once.
// Software whose casts are kernels of their own has one for that, too. Other software gathers narrow weights
// (Megatron-Bridge's fp8_param_gather, torchao's enable_fsdp_float8_all_gather), or it is left out.
void add_weight_casts(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works) {
  double bytes = 0;
  for (const PlacedItem* item : members) {
    const Operator& op = c.block.operators[item->op];
    if (item->pass == Pass::weight_grad || !c.facts.operators[item->op].is_cast) continue;
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
  cast.label = c.label([&] { return works.back().label + " cast"; });
  cast.pass = works.back().pass;
  cast.routed = works.back().routed;
  cast.bytes = Bytes(bytes);
  works.push_back(std::move(cast));
}

}  // namespace stepcast::dataflow
