// The load in a file that describes pools: recipes of srt-slurm and the configuration of TensorRT-LLM's Slurm benchmark
// have a section for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "studies/engines/bench_load.h"

namespace stepcast::engines {

/// nullopt: it has none. What is not understood is a note, and flags say the load. Errors: what is no configuration.
/// `variant`: which of several recipes.
Expected<std::optional<BenchLoad>> load_of_pools_file(
    const std::string& text, const std::string& where, std::string_view variant = "");

}  // namespace stepcast::engines
