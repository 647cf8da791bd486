// How the work is split and ordered: mapping statements (dataflow notation) with batch, precision and size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/machine/machine.h"
#include "model/network/adapters.h"

namespace stepcast {

/// An iteration of an engine in place of a training step: `sequence` new positions of each of `micro_batch` sequences
/// per rank, behind those that stand in the cache.
struct CacheUse {
  std::int64_t cached = 0;   ///< positions of each sequence
  double element_bytes = 2;  ///< of keys and values
};

struct Plan {
  std::string mapping;                 ///< program text of the notation: mesh lines, `use ...`, statements
  std::string mapping_where = "plan";  ///< file name for error positions
  std::int64_t gpus = 1;
  std::int64_t micro_batch = 1;   ///< sequences per rank and micro-batch
  std::int64_t global_batch = 1;  ///< sequences per step
  std::int64_t sequence = 0;      ///< 0 = the network's own
  Precision precision = Precision::bf16;
  bool fp8_any_layout = false;    ///< of the GPU (Gpu::fp8_any_layout): fp8 weights have no transposed copy
  std::optional<CacheUse> cache;  ///< an iteration; without, a step
  std::int64_t lora_rank = 0;     ///< > 0: train low-rank adapters on the frozen network (arXiv 2106.09685)
  AdaptedProjections adapted;     ///< beside which projections those are
};

}  // namespace stepcast
