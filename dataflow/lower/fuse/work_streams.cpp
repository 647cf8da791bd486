// Launches that mix several residual streams around a sublayer (hyper-connections), forward.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dataflow/lower/fuse/work.h"

namespace stepcast::dataflow {
namespace {

const Operator* operator_of(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::string_view function) {
  for (const PlacedItem* item : members)
    if (c.block.operators[item->op].function == function) return &c.block.operators[item->op];
  return nullptr;
}

}  // namespace

bool mixes_streams(const FuseContext& c, const std::vector<const PlacedItem*>& members) {
  if (members.front()->kind != PlacedKind::compute) return false;
  return operator_of(c, members, "spread") != nullptr ||
         (operator_of(c, members, "sinkhorn") != nullptr && operator_of(c, members, "merge") != nullptr);
}

// The streams are [b, s, n, h], the first input of the sum and of what puts a result back.
void add_mixing(const FuseContext& c, const std::vector<const PlacedItem*>& members, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works) {
  std::vector<KernelWork> products, touched;
  std::vector<const PlacedItem*> multiplied;
  for (const PlacedItem* item : members)
    if (c.block.operators[item->op].kind == OperatorKind::einsum) multiplied.push_back(item);
  if (!multiplied.empty()) add_products(c, multiplied, products);
  if (!add_pointwise(c, members, root, read_outside, touched)) return;
  KernelWork work = std::move(touched.front());
  work.n = 0;
  for (const KernelWork& product : products) {
    work.flops += product.flops, work.useful += product.useful;
    work.n += product.n;
  }
  const Operator* sum = operator_of(c, members, "merge");
  const Operator& op = sum != nullptr ? *sum : *operator_of(c, members, "spread");
  const PlacedItem& item =
      **std::ranges::find_if(members, [&](const PlacedItem* one) { return &c.block.operators[one->op] == &op; });
  const std::vector<int>& loops = op.inputs.front().loops;
  const auto extent = [&](std::size_t i) { return local_extent(c.network, loops[i], c.splits[item.op], c.mesh); };
  work.m = extent(0) * extent(1), work.streams = extent(2), work.k = extent(3);
  work.element_bytes = c.network.tensors[op.inputs.front().tensor].bytes_per_element;
  works.push_back(std::move(work));
}

std::string streams_text(const KernelWork& work, double positions) {
  return fmt::format("{:.0f} positions, {:.0f} streams of {:.0f}", positions, work.streams, work.k);
}

}  // namespace stepcast::dataflow
