#include "studies/roofline/figures/operator_traffic.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/chip/account/gemm_kernel.h"

namespace stepcast::roofline {
namespace {

const char* const each_once_text = "each byte once";

/// A weight gradient's result is read and written in its accumulator's type: its width follows from the bytes.
double result_width(const KernelWork& work) {
  const double operands = work.batch * (work.m * work.k + work.k * work.n) * work.element_bytes;
  return std::max(0.0, (work.bytes.value() - operands) / (work.batch * work.m * work.n));
}

/// The cast streams through L2 beside the product.
OperatorTraffic product_traffic(const KernelWork& work, const WorkParts& parts, const Gpu& gpu) {
  if (gpu.multiprocessors <= 0 || gpu.l2.value() <= 0 || !(work.batch * work.m * work.n * work.k > 0)) {
    const Bytes all = parts.bytes + parts.casting;
    return {all, all, fmt::format("{}: neither tiles nor waves are known", each_once_text)};
  }
  const GemmShape shape{work.m, work.n, work.k, work.batch, parts.operand_bytes, result_width(work)};
  const GemmTraffic traffic = gemm_traffic(shape, {gpu.multiprocessors, gpu.l2});
  return {Bytes(traffic.hbm_bytes) + parts.casting, Bytes(traffic.l2_bytes) + parts.casting,
      fmt::format(
          "tiles of {} x {}, waves of {} x {}", traffic.tile.m, traffic.tile.n, traffic.wave_m, traffic.wave_n)};
}

// FlashAttention-2 (arXiv 2307.08691, section 3): forward, a thread block keeps a block of queries and its results and
// reads all keys and values that these see; backward, one keeps a block of keys, values and their gradients, reads
// queries and gradients of results, and adds to the gradients of queries in fp32. Blocks are of 128 (section 3.3 tunes
// over 64 and 128). Device memory sees each byte once: the keys and values of the heads that run at once stay in L2.
constexpr double attention_block = 128;
// Per key that a query sees and element of the head, with equal head sizes of keys and values: two products of 2 FLOPs
// forward, five backward, on a key's and a value's element, or on those of a query, the gradient of a result and the
// fp32 gradient of a query.
constexpr double core_forward_flops = 4, core_backward_flops = 10;
constexpr double core_loop_elements = 2, core_accumulator_bytes = 4;
// The rest passes once. Of queries, keys, values and results half are the block's own queries and results; of these
// four and their gradients five of eight lie outside the loop. Exact where keys have as many heads as queries; with
// fewer the loop outweighs the rest by keys / 128.
constexpr double core_forward_rest = 1.0 / 2, core_backward_rest = 5.0 / 8;

OperatorTraffic attention_traffic(const KernelWork& work, const WorkParts& parts) {
  const double read = core_loop_elements * parts.operand_bytes;
  const double per_flop = work.backward ? (read + core_accumulator_bytes) / (core_backward_flops * attention_block)
                                        : read / (core_forward_flops * attention_block);
  const double rest = work.backward ? core_backward_rest : core_forward_rest;
  const Bytes l2 = parts.bytes * rest + Bytes(work.flops.value() * per_flop);
  return {parts.bytes, std::max(l2, parts.bytes),
      fmt::format("{} in blocks of {:.0f}", work.backward ? "keys" : "queries", attention_block)};
}

}  // namespace

OperatorTraffic operator_traffic(const KernelWork& work, const WorkParts& parts, const Gpu& gpu) {
  switch (work.kernel) {
    case KernelClass::gemm: return product_traffic(work, parts, gpu);
    case KernelClass::attention: return attention_traffic(work, parts);
    case KernelClass::pointwise:
    case KernelClass::lookup:
    case KernelClass::scan: break;
  }
  return {parts.bytes + parts.casting, parts.bytes + parts.casting, each_once_text};
}

}  // namespace stepcast::roofline
