// A block under a mapping: every copy of every tensor, and the items that make them, in issue order. This is the exact
// meaning of the rules (docs/design.md, A2 to A4); lower() prices nothing and only turns it into a Program, and the
// tests execute it rank by rank with real numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/place/placement.h"
#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/network/network.h"
#include "model/split_function.h"

namespace stepcast::dataflow {

/// One tensor (or its gradient) as it lies on the ranks at one moment.
struct Copy {
  int tensor = -1;
  bool gradient = false;
  Placement place;
  double bytes = 0;  ///< per rank
  int parent = -1;   ///< copy it was moved from; -1 = made by an operator or given
};

enum class PlacedKind : std::uint8_t { compute, gradient, sum, move };

/// compute:  reads[i] = copy of input i, writes[0] = output in its natural placement.
/// gradient: reads[0] = output gradient (-1: the loss, gradient one), reads[1+i] = input i or -1 when not read,
///           reads.back() = the output itself or -1; writes[i] = contribution to input i or -1.
/// sum:      reads = contributions, writes[0] = their sum; Replicate parts of a Partial sum count on coordinate 0 only.
/// move:     reads[0] -> writes[0] over the atoms.
struct PlacedItem {
  PlacedKind kind = PlacedKind::compute;
  Pass pass = Pass::forward;
  int op = -1;
  std::vector<int> reads, writes;
  MoveKind move = MoveKind::slice;
  AtomMask atoms = 0;
  double received = 0;  ///< bytes per rank and call
  int steps = 1, launches = 1, chunks = 1, ahead = 0;
  Cargo cargo = Cargo::activation;
  When when = When::each_micro_batch;
  bool again = false;
  int statement = -1;        ///< that asked for this manner or home, or -1: derived
  bool joint_bucket = true;  ///< weight moves: may share a bucket with others of its block
  /// Results over parts of the keys become one (rule 10): this reduces sums and results, in fp32; before it the maxima
  /// are reduced, of so many bytes received, which `received` counts, too. 0: nothing of the kind.
  double maxima_received = 0;
};

/// What forward keeps for backward.
struct SavedCopy {
  int copy = -1;  ///< -1: a side product (mask, log-sum-exp) of operator `op`
  int op = -1;
  double bytes = 0;
  bool held_until_weight_grad = false;
};

/// A weight's chain of homes (rule 24).
struct WeightChain {
  int tensor = -1;
  Placement home, accumulator, optimizer;
  std::vector<int> needs;  ///< copies at use that are not home (gathered)
  double home_bytes = 0, accumulator_bytes = 0, optimizer_elements = 0, home_elements = 0;
};

/// Copies of a tensor that an earlier block made and this one reads (Block::reads): its value, which is kept where it
/// was made; the gradient that blocks behind have summed so far; the same with this block's share.
struct PlacedRead {
  int value = -1, gradient_before = -1, gradient = -1;
};

/// Copies of a tensor that later blocks read: its value at home, and the gradient that they summed.
struct PlacedLoan {
  int value = -1, gradient = -1;
};

struct PlacedBlock {
  std::vector<Copy> copies;
  std::vector<PlacedItem> forward, backward;
  std::vector<PlacedItem> step;  ///< once per step: first use, last use, tail (by `when`)
  std::vector<SavedCopy> saved;
  std::vector<WeightChain> chains;
  std::vector<int> kept_gathers;  ///< gathered weight copies with life microbatch or step
  int input = -1, output = -1;    ///< copies
  int input_gradient = -1, output_gradient = -1;
  std::vector<PlacedRead> reads;  ///< in the order of Block::reads
  std::vector<PlacedLoan> loans;  ///< of tensors made here that are another block's reads
};

struct PlacedNetwork {
  Mesh mesh;
  std::vector<std::vector<OperatorSplit>> splits;
  std::vector<PlacedBlock> blocks;
};

/// What the software decides and the notation does not say.
struct PlacingOptions {
  double gradient_bytes = 4;     ///< weight-gradient accumulators and their wire
  bool recompute_whole = false;  ///< as if every `recompute` said `whole`
  /// Homes, chains and what happens once per step alone: no items of a micro-batch, nothing saved.
  bool step_alone = false;
  /// Items of a micro-batch alone: chains end where gradients are kept.
  bool passes_alone = false;
  std::vector<SplitFunction> one_by_one;  ///< Stack::one_by_one
  friend bool operator==(const PlacingOptions&, const PlacingOptions&) = default;
};

/// `statements` are expanded; recompute with `layers N` is placed as written here (the caller places twice).
Expected<PlacedNetwork> place(const Network& network, const std::vector<MeshLine>& meshes,
    const std::vector<Statement>& statements, std::int64_t gpus, const PlacingOptions& options);

/// How the stream of `block` crosses from stage to stage: its home, unless `home boundary` says otherwise.
Expected<Placement> boundary_placement(const Network& network, const Block& block, const Placement& home,
    const Mesh& mesh, const std::vector<Statement>& statements);

}  // namespace stepcast::dataflow
