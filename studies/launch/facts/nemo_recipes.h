// Recipes of pretraining that NeMo 2 ships: the split and the batch that each has where it is not told.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepcast::launch {

struct NemoRecipe {
  std::string_view name;                ///< "llama3_8b", as --factory and llm.llama3_8b have it
  std::int64_t tp, pp, chunks, cp, ep;  ///< chunks of layers on a stage: 0 = one
  bool sequence_parallel, recomputes;   ///< all of each layer
  std::int64_t nodes, gpus_per_node, sequence, global_batch, micro_batch;
};

/// Null where it is not known: those of fine-tuning, and those with callbacks of their own.
const NemoRecipe* find_nemo_recipe(std::string_view name);

}  // namespace stepcast::launch
