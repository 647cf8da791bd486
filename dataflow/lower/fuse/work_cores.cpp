// Attention, the indexers that pick its keys, and scans.
#include <algorithm>

#include <fmt/format.h>

#include "dataflow/attended_keys.h"
#include "dataflow/lower/fuse/work.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

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

KernelWork attention(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank_work(c, item);
  work.kernel = KernelClass::attention;
  work.backward = item.kind == PlacedKind::gradient;
  double points = 1;
  for (int loop : c.facts.operators[item.op].loops)
    if (!contains(op.whole_loops, loop)) points *= local_extent(c.network, loop, c.splits[item.op], c.mesh);
  const double keys = local_extent(c.network, op.key_loop, c.splits[item.op], c.mesh);
  // Of the whole sequence: a rank that has a part of the queries has one like all others.
  const auto asked = static_cast<double>(c.network.dims[op.query_loop].extent),
             all = static_cast<double>(c.network.dims[op.key_loop].extent);
  work.key_reach = {op.domain, op.reach, op.beside};
  work.dense = static_cast<double>(op.dense);
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
  work.bytes = touched_bytes(c, item);
  return work;
}

/// Backward runs the chunks again and makes two products of each (as does attention): three times the FLOPs of forward.
constexpr double scan_backward_products = 3;

/// Values are [b, s, heads..., p], keys [b, s, groups..., n].
KernelWork scan(const FuseContext& c, const PlacedItem& item, const ScanFunction& function) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank_work(c, item);
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
  work.bytes = touched_bytes(c, item);
  return work;
}

}  // namespace

// Scores of all keys by each of the indexer's heads, which is a product, and the best of each row; in backward the
// loss that teaches it makes the scores again and their two gradients.
KernelWork index_work(const FuseContext& c, const PlacedItem& item) {
  const Operator& op = c.block.operators[item.op];
  KernelWork work = blank_work(c, item);
  work.kernel = KernelClass::attention;
  work.backward = item.kind == PlacedKind::gradient;
  const auto extent = [&](int loop) { return local_extent(c.network, loop, c.splits[item.op], c.mesh); };
  double points = 1;
  for (int loop : op.inputs.front().loops) points *= extent(loop);
  const double keys = extent(op.key_loop);
  work.key_reach.domain = Domain::causal;
  work.dense = static_cast<double>(op.dense);
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
  work.bytes = touched_bytes(c, item);
  if (cached) {
    add_heads(c, item, work);
    work.kept = extent(op.output.loops.back());
    for (std::size_t i = 2; i + 1 < op.output.loops.size(); ++i) work.choices *= extent(op.output.loops[i]);
    work.key_element_bytes = of_keys.bytes_per_element;
    work.launches = 2;  // scores, and the best of them
  }
  return work;
}

void add_cores(const FuseContext& c, const std::vector<const PlacedItem*>& cores, std::vector<KernelWork>& works) {
  for (const PlacedItem* item : cores) {
    if (item->pass == Pass::weight_grad) continue;
    const Operator& op = c.block.operators[item->op];
    const ScanFunction* function = op.kind == OperatorKind::attention ? nullptr : find_scan(op.function);
    works.push_back(function != nullptr ? scan(c, *item, *function) : attention(c, *item));
  }
}

std::string shape_text(const ScanShape& scan) {
  return fmt::format("{:.0f} sequences of {:.0f}, {:.0f} heads of {:.0f} x {:.0f}", scan.sequences, scan.positions,
      scan.heads, scan.value_size, scan.key_size);
}

}  // namespace stepcast::dataflow
