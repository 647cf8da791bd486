// Blocks on virtual stages, what passes between these, and what stands behind all of them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "dataflow/lower/fuse/fuse.h"
#include "dataflow/lower/lowering.h"
#include "dataflow/place/moves.h"

namespace stepcast::dataflow {

void Lowering::fill_chunks() {
  layers_.kinds = layer_kinds(spec_, network_->dims[network_->find_dim("s")].extent + cached()).of_layer;
  for (std::size_t b = 0; b < network_->blocks.size(); ++b)
    if (network_->blocks[b].place != Block::Place::layers)
      (network_->blocks[b].place == Block::Place::first ? layers_.before : layers_.after)
          .push_back({static_cast<int>(b), network_->blocks[b].repeat});
  out_.chunks = make_chunks(layout_, layers_);
  if (plan_.cache && !kernels_alone_) count_cache();
  const bool recomputes = std::ranges::any_of(
      parsed_->statements, [](const Statement& s) { return std::holds_alternative<RecomputeStatement>(s.body); });
  if (!recomputes) return;
  for (const Chunk& chunk : out_.chunks)
    for (const BlockRun& run : chunk.runs)
      if (run.block < static_cast<int>(network_->blocks.size()) &&
          network_->blocks[run.block].place == Block::Place::layers)
        out_.recompute_layers += static_cast<double>(run.count);
}

// The stream crosses with its local bytes at home, or as `home boundary` says; then a gather brings it home.
Expected<void> Lowering::make_edges() {
  const std::size_t stream_block = static_cast<std::size_t>(layers_.block_of.front().block);
  const PlacedBlock& layer = placed_->blocks[stream_block];
  const Copy& stream = layer.copies[layer.output];
  TRY(auto crossing,
      boundary_placement(*network_, network_->blocks[stream_block], stream.place, placed_->mesh, parsed_->statements));
  const double bytes = local_elements(*network_, stream.tensor, crossing, placed_->mesh) *
                       network_->tensors[stream.tensor].bytes_per_element;
  std::optional<Move> gather;
  for (const Hop& hop : hops(crossing, stream.place, placed_->mesh, false, 0)) {
    if (hop.kind == MoveKind::slice || hop.kind == MoveKind::mask) continue;
    Move move;
    move.label = "boundary gather";
    move.kind = hop.kind;
    move.cargo = Cargo::boundary;
    move.group = intern_group(out_.groups, placed_->mesh, hop.atoms);
    move.local_before = Bytes(bytes);
    move.received = Bytes(received_bytes(hop.kind, bytes, static_cast<double>(placed_->mesh.size_of(hop.atoms))));
    move.local_after = Bytes(stream.bytes);
    move.blocking = true;
    gather = std::move(move);
  }
  for (std::size_t i = 0; i + 1 < out_.chunks.size(); ++i) {
    StageEdge edge;
    edge.from = static_cast<int>(i);
    edge.to = static_cast<int>(i) + 1;
    const std::int64_t steps = std::abs(out_.chunks[i + 1].stage - out_.chunks[i].stage);
    edge.rank_distance = steps * layout_.stride;
    edge.bytes = Bytes(steps == 0 ? 0 : bytes);
    if (steps > 0) edge.gather = gather;
    out_.edges.push_back(std::move(edge));
  }
  return {};
}

// The global norm: one number per rank, summed where gradients are split, and over the stages.
void Lowering::make_tail() {
  AtomMask split = layout_.stages > 1 ? layout_.atoms : 0;
  for (const PlacedBlock& block : placed_->blocks)
    for (const WeightChain& chain : block.chains)
      for (std::size_t a = 0; a < placed_->mesh.atoms.size(); ++a)
        if (chain.optimizer.at[a] >= 0 || chain.optimizer.at[a] == flat_shard) split |= AtomMask{1} << a;
  if (split == 0 || placed_->mesh.size_of(split) == 1) return;
  Move norm;
  norm.label = "gradient norm all_reduce";
  norm.kind = MoveKind::all_reduce;
  norm.pass = Pass::step;
  norm.when = When::tail;
  norm.cargo = Cargo::scalar;
  norm.blocking = true;
  norm.group = intern_group(out_.groups, placed_->mesh, split);
  const auto ranks = static_cast<double>(placed_->mesh.size_of(split));
  norm.local_before = norm.local_after = Bytes(4);
  norm.received = Bytes(2 * (ranks - 1) / ranks * 4);
  if (explain_) norm.because = "sum of squares over every axis that splits a gradient, and over the stages";
  out_.tail.push_back(std::move(norm));
}

}  // namespace stepcast::dataflow
