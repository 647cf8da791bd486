#include "dataflow/place/moves.h"

#include <array>
#include <cassert>

namespace stepcast::dataflow {
namespace {

/// Rule 15: the move of one atom.
MoveKind transition(Slot from, Slot to) {
  if (from == replicated) return to == partial_sum ? MoveKind::mask : MoveKind::slice;
  if (from == partial_sum) return to == replicated ? MoveKind::all_reduce : MoveKind::reduce_scatter;
  if (to == replicated) return MoveKind::all_gather;
  if (to == partial_sum) return MoveKind::mask;  // a shard padded with zeros is a partial sum
  return MoveKind::all_to_all;
}

void staged_hops(MoveKind kind, AtomMask atoms, const Placement& to, const Mesh& mesh, Slot scatter_dim, Placement& now,
    std::vector<Hop>& out) {
  std::vector<std::size_t> order;  // inner first
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
    if (atoms >> a & 1U) order.push_back(a);
  const auto step = [&](MoveKind k, std::size_t a, Slot slot) {
    now.at[a] = slot;
    out.push_back({k, AtomMask{1} << a, now});
  };
  if (kind != MoveKind::all_reduce) {
    for (std::size_t a : order) step(kind, a, to.at[a]);
    return;
  }
  for (std::size_t i = 0; i + 1 < order.size(); ++i) step(MoveKind::reduce_scatter, order[i], scatter_dim);
  step(MoveKind::all_reduce, order.back(), replicated);
  for (std::size_t i = order.size() - 1; i-- > 0;) step(MoveKind::all_gather, order[i], replicated);
}

}  // namespace

const char* to_text(MoveKind kind) {
  switch (kind) {
    case MoveKind::slice: return "slice";
    case MoveKind::mask: return "mask";
    case MoveKind::reduce_scatter: return "reduce_scatter";
    case MoveKind::all_reduce: return "all_reduce";
    case MoveKind::all_to_all: return "all_to_all";
    case MoveKind::send_recv: return "send_recv";
    case MoveKind::all_gather: return "all_gather";
    case MoveKind::ring: return "ring";
  }
  return "";
}

std::vector<Hop> hops(const Placement& from, const Placement& to, const Mesh& mesh, bool staged, Slot scatter_dim) {
  if (from == to) return {};
  constexpr std::array kind_order{MoveKind::slice, MoveKind::mask, MoveKind::reduce_scatter, MoveKind::all_reduce,
      MoveKind::all_to_all, MoveKind::all_gather};
  std::array<AtomMask, kind_order.size()> masks{};
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    if (from.at[a] == to.at[a] || mesh.atoms[a].stage) continue;
    const MoveKind kind = transition(from.at[a], to.at[a]);
    for (std::size_t k = 0; k < kind_order.size(); ++k)
      if (kind_order[k] == kind) masks[k] |= AtomMask{1} << a;
  }
  std::vector<Hop> out;
  Placement now = from;
  for (std::size_t k = 0; k < kind_order.size(); ++k) {
    if (masks[k] == 0) continue;
    const bool several = (masks[k] & (masks[k] - 1)) != 0;
    if (staged && several && kind_order[k] != MoveKind::slice && kind_order[k] != MoveKind::mask) {
      staged_hops(kind_order[k], masks[k], to, mesh, scatter_dim, now, out);
      continue;
    }
    for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
      if (masks[k] >> a & 1U) now.at[a] = to.at[a];
    out.push_back({kind_order[k], masks[k], now});
  }
  return out;
}

double received_bytes(MoveKind kind, double local, double ranks) {
  switch (kind) {
    case MoveKind::slice:
    case MoveKind::mask: return 0;
    case MoveKind::all_gather: return (ranks - 1) * local;
    case MoveKind::all_reduce: return 2 * (ranks - 1) / ranks * local;
    case MoveKind::reduce_scatter:
    case MoveKind::all_to_all: return (ranks - 1) / ranks * local;
    case MoveKind::send_recv:
    case MoveKind::ring: return local;
  }
  assert(false);
  return 0;
}

}  // namespace stepcast::dataflow
