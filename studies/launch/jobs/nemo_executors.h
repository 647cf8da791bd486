// What the executor of a NeMo-Run script starts.
#pragma once

#include <string_view>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Arguments that name what a script's executor starts, "nodes" and "ranks" of a node.
constexpr std::string_view executor_front = "nemo_run_executor.";

/// Ranks that the executor of the script's run starts, as arguments that are held against the recipe's trainer:
/// torchrun_nproc_per_node, else the GPUs of a single task, else the tasks (SlurmExecutor.nproc_per_node).
void take_nemo_executors(Launch& launch, std::string_view text);

}  // namespace stepcast::launch
