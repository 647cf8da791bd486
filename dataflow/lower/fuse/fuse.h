// From placed items to launches: operators of one kernel group become one KernelWork, joint moves one Move, copies
// become buffers with lifetimes.
#pragma once

#include <string>
#include <vector>

#include "dataflow/lower/fuse/block_facts.h"
#include "dataflow/place/block.h"
#include "dataflow/program.h"
#include "model/network/network.h"
#include "model/stack.h"

namespace stepcast::dataflow {

struct FuseContext {
  const Network& network;
  const Block& block;
  const BlockFacts& facts;
  const PlacedBlock& placed;
  const std::vector<OperatorSplit>& splits;
  const Mesh& mesh;
  const Stack& stack;
  const std::vector<Statement>& statements;
  std::vector<Group>& groups;                ///< of the program, grows
  bool explain = false;                      ///< fill Move::because
  const std::vector<char>& counted_weights;  ///< by tensor: an earlier block of the same ranks has its chain
  /// by tensor: embedding and head are read by prediction modules as well; there is one, however often a block repeats
  const std::vector<int>& blocks_reading;
  const Experts& experts;  ///< how they are chosen, and rows of the fullest rank over the mean
  /// per element of what projections are cast to under a narrow plan; 0 = the plan is not narrow
  double narrow_bytes = 0;
  double narrow_copies = 2;  ///< of a weight that is cast: as is, and transposed where products want it so
  bool step_alone = false;   ///< PlacingOptions::step_alone
  /// Kernels and moves, without what these wait for, buffers and model FLOPs.
  bool kernels_alone = false;
  /// No price asks for names. What blocks share by its name has it in any case.
  bool labelled = true;
  template <typename Make> [[nodiscard]] std::string label(Make make) const {
    return labelled ? make() : std::string();
  }
};

ProgramBlock fuse(const FuseContext& context);

/// Group of the atoms in `groups`, added when new.
int intern_group(std::vector<Group>& groups, const Mesh& mesh, AtomMask atoms);

/// Turns one placed move into a Program move (label, group, bytes, blocking edge of the stack).
Move make_move(const FuseContext& context, const PlacedItem& item);

/// Of results over parts of the keys: the reduction of their maxima, which comes first, and what scales the sums and
/// results behind it and divides them in the end.
Move make_maxima_move(const FuseContext& context, const PlacedItem& item);
KernelWork make_joining_work(const FuseContext& context, const PlacedItem& item);

/// Weights, gradients, optimizer state, saved and transient copies of the block. `item_of` maps copies to list
/// positions.
struct ListPlaces {
  std::vector<int> born, dies;  ///< by copy: program item that makes it, last that reads it; -1 = never in memory
};
void add_buffers(const FuseContext& context, const ListPlaces& forward, const ListPlaces& backward, ProgramBlock& out);

/// Work of a run of items that share a kernel and a pass.
struct KernelStart {
  std::vector<const PlacedItem*> members;
};
/// Adds one or several works (products of unlike shapes do not join); false when the launch costs nothing.
bool add_works(const FuseContext& context, const KernelStart& launch, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works);

/// Ranks that do the same work again: product of the atoms on which the operator is not split.
double repeats(const FuseContext& context, int op);

}  // namespace stepcast::dataflow
