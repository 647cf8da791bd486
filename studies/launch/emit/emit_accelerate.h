// Says how a plan is told to Hugging Face accelerate: by which engine and in which of its settings. The file and the
// list of what cannot be said both follow this. The facts are those of accelerate 1.14
// (src/accelerate/commands/config/cluster.py, utils/{dataclasses,launch}.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/emit/emit_beside.h"

namespace stepcast::launch {

/// distributed_type of the file.
enum class AccelerateEngine : std::uint8_t {
  one,        ///< NO: a single process
  plain,      ///< MULTI_GPU: torch's DistributedDataParallel
  deepspeed,  ///< DEEPSPEED, with settings of its own in the file
  fsdp,       ///< FSDP version 2, with a mesh where more than data is split
  megatron,   ///< MEGATRON_LM
};
AccelerateEngine accelerate_engine(const Split& split);
std::string_view to_text(AccelerateEngine engine);

/// Layers of the last stage, where all others have the same number; 0 where there is no such number.
std::int64_t accelerate_last_layers(const Split& split);
/// Does the file say how many micro-batches a step has?
bool accelerate_says_batches(AccelerateEngine engine);

std::vector<std::string> unsaid_accelerate(const EmitPlan& plan);

}  // namespace stepcast::launch
