// What a placed move is called, carries and waits for in the program.
#include <algorithm>

#include <fmt/format.h>

#include "dataflow/lower/fuse/fuse.h"
#include "dataflow/place/moves.h"

namespace stepcast::dataflow {
namespace {

/// The gather again of what a product reads, or the sum of that input's gradient: its gradient kernels need not wait.
bool serves_input(const PlacedItem& item, bool of_gradient) {
  const bool sums = item.move == MoveKind::all_reduce || item.move == MoveKind::reduce_scatter;
  return item.again || (of_gradient && sums && item.pass == Pass::input_grad);
}

bool blocks(const Stack& stack, const PlacedItem& item, bool of_gradient) {
  if (item.move == MoveKind::ring) return stack.ring_moves == Manners::blocking;
  switch (item.cargo) {
    case Cargo::activation:
      return stack.activation_moves == Manners::blocking &&
             (stack.input_moves_in_backward == Manners::blocking || !serves_input(item, of_gradient));
    case Cargo::weight: return stack.weight_gathers == Manners::blocking;
    case Cargo::gradient: return stack.gradient_reduces == Manners::blocking;
    default: return true;
  }
}

}  // namespace

namespace {

/// Results of a query and a head on one rank: a maximum each, and a sum beside `width` numbers.
struct JoinedRows {
  double rows = 0, width = 0;
  static constexpr double fp32 = 4;
};

JoinedRows joined_rows(const FuseContext& c, const Copy& copy) {
  const auto width = static_cast<double>(c.network.dims[c.network.tensors[copy.tensor].dims.back()].extent);
  return {local_elements(c.network, copy.tensor, copy.place, c.mesh) / width, width};
}

/// Weights move in buckets: the label is that of the bucket.
std::string label_of(const PlacedItem& item, const Copy& from, const std::string& tensor) {
  std::string label;
  if (item.cargo == Cargo::weight || item.cargo == Cargo::gradient) label = from.gradient ? "gradients" : "weights";
  else label.append(from.gradient ? "d" : "").append(tensor);
  return label.append(" ").append(to_text(item.move));
}

}  // namespace

Move make_maxima_move(const FuseContext& c, const PlacedItem& item) {
  Move move = make_move(c, item);
  const Copy& from = c.placed.copies[item.reads.front()];
  move.label = c.label([&] { return c.network.tensors[from.tensor].name + ".max " + to_text(MoveKind::all_reduce); });
  move.kind = MoveKind::all_reduce;
  move.received = Bytes(item.maxima_received);
  move.local_before = move.local_after = Bytes(JoinedRows::fp32 * joined_rows(c, from).rows);
  return move;
}

KernelWork make_joining_work(const FuseContext& c, const PlacedItem& item) {
  const Copy &from = c.placed.copies[item.reads.front()], &to = c.placed.copies[item.writes.front()];
  KernelWork work;
  work.label = c.label([&] { return c.network.tensors[from.tensor].name + " joined"; });
  work.pass = item.pass;
  const auto element = c.network.tensors[from.tensor].bytes_per_element;
  work.element_bytes = element;
  // Once from results to scaled results and sums, once from those back to results.
  for (const Copy* copy : {&from, &to}) {
    const JoinedRows joined = joined_rows(c, *copy);
    work.bytes += Bytes(joined.rows * (joined.width * element + (joined.width + 1) * JoinedRows::fp32));
  }
  work.launches = 2;
  return work;
}

Move make_move(const FuseContext& c, const PlacedItem& item) {
  const Copy &from = c.placed.copies[item.reads.front()], &to = c.placed.copies[item.writes.front()];
  const std::string& tensor = c.network.tensors[from.tensor].name;
  Move move;
  move.label = c.label([&] { return label_of(item, from, tensor); });
  move.kind = item.move;
  move.pass = item.pass;
  move.when = item.when;
  move.cargo = item.cargo;
  move.group = intern_group(c.groups, c.mesh, item.atoms);
  move.received = Bytes(item.received - item.maxima_received);
  move.local_before = Bytes(from.bytes);
  move.local_after = Bytes(to.bytes);
  if (item.maxima_received > 0) {
    const auto bytes = [&](const Copy& copy) {
      const JoinedRows joined = joined_rows(c, copy);
      return Bytes(joined.rows * (joined.width + 1) * JoinedRows::fp32);
    };
    move.local_before = bytes(from), move.local_after = bytes(to);
  }
  move.launches = item.launches;
  move.steps = item.steps;
  move.blocking = blocks(c.stack, item, from.gradient);
  move.ahead = item.ahead;
  move.again = item.again;
  move.element_bytes = item.maxima_received > 0 ? JoinedRows::fp32 : c.network.tensors[from.tensor].bytes_per_element;
  move.for_product = item.op >= 0 && c.facts.operators[item.op].is_cast;
  // Routed rows: the fullest rank sets the time.
  const auto is_rows = [&](int dim) { return c.network.dims[dim].name == "c"; };
  if (std::ranges::any_of(c.network.tensors[from.tensor].dims, is_rows)) {
    move.max_rank_factor = c.experts.imbalance;
    move.experts = static_cast<double>(c.network.dims[c.network.find_dim("e")].extent);
    move.choices = static_cast<double>(c.network.dims[c.network.find_dim("k")].extent);
    move.groups = c.experts.groups > 0 ? static_cast<double>(c.experts.groups) : 1;
    move.top_groups = c.experts.groups > 0 ? static_cast<double>(c.experts.top_groups) : 1;
  }
  if (c.explain) {
    const std::string before = to_text(from.place, c.network, from.tensor, c.mesh),
                      after = to_text(to.place, c.network, to.tensor, c.mesh);
    move.because = fmt::format("{}{}: {} -> {}", from.gradient ? "d" : "", tensor, before, after);
    if (item.op >= 0) move.because += ", for " + c.block.operators[item.op].name;
    if (item.statement >= 0) move.because += fmt::format(" ({})", print(c.statements[item.statement]));
  }
  return move;
}

}  // namespace stepcast::dataflow
