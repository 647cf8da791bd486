// From one placement to another: which collectives, over which atoms, in which order (docs/design.md, section A3).
#pragma once

#include <vector>

#include "dataflow/place/placement.h"
#include "dataflow/program.h"

namespace stepcast::dataflow {

/// One hop of a move. Sizes are per rank, in elements of what moves.
struct Hop {
  MoveKind kind = MoveKind::slice;
  AtomMask atoms = 0;
  Placement after;
};

/// "all_gather"
const char* to_text(MoveKind kind);

/// Rule 15 per atom, rule 16 for the order: slice, mask, reduce-scatter, all-reduce, all-to-all, all-gather.
/// Hops of one kind join over the product group. `staged`: atoms one after the other, inner first; an all-reduce
/// becomes reduce-scatter inside, all-reduce outside, all-gather inside, scattering dim `scatter_dim` of the tensor
/// (flat_shard: any shape).
std::vector<Hop> hops(const Placement& from, const Placement& to, const Mesh& mesh, bool staged, Slot scatter_dim);

/// Bytes received per rank in one hop. `local` is the local size before. A ring gather receives as much as the
/// collective; a ring reduction that starts with its own chunk travels home: p hops, the full local size.
double received_bytes(MoveKind kind, double local, double ranks);

}  // namespace stepcast::dataflow
