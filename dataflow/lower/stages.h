// Layers on stages: which chunk runs which blocks, and what crosses between them (rule 26).
#pragma once

#include <vector>

#include "dataflow/place/block.h"
#include "dataflow/program.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

/// How the layers lie: per virtual stage, in forward order, the number of layers. One entry without a stage statement.
struct StageLayout {
  std::int64_t stages = 1, chunks = 1;
  bool folded = false;  ///< zigzag: stage i holds parts i and 2p-1-i, a V of two chunks
  AtomMask atoms = 0;
  std::int64_t stride = 1;
  std::vector<std::int64_t> layers;  ///< stages*chunks entries
  std::string schedule = "1f1b";
  std::int64_t micro_batches = 0;  ///< 0: follows from the batch
};

/// Chunks per stage that a layout makes: cyclic(v) v, zigzag 2, a list as many as it has entries per stage, else 1.
std::int64_t chunks_of(const Layout& layout, std::int64_t stages);

/// Errors: layers that do not divide (with the legal sizes), a list of the wrong length or sum.
Expected<StageLayout> stage_layout(std::int64_t layers, const Mesh& mesh, const std::vector<Statement>& statements);

/// Which block each layer is, and what stands before and behind the layers.
struct LayerBlocks {
  struct Kind {
    int block = 1, plain = 1;  ///< plain: the same without recomputation
    int kind = 0;
  };
  std::vector<Kind> block_of;
  std::vector<std::uint8_t> kinds;  ///< by layer
  std::vector<BlockRun> before, after;
  std::int64_t recompute_limit = 0;  ///< layers per stage that recompute; 0 = all that the blocks say
};

/// Virtual stage by virtual stage, in forward order.
std::vector<Chunk> make_chunks(const StageLayout& layout, const LayerBlocks& layers);

}  // namespace stepcast::dataflow
