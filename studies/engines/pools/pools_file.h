// Files that describe pools for prompts and tokens together: TensorRT-LLM's for `trtllm-serve disaggregated`, the
// configuration of its Slurm benchmark, and recipes of srt-slurm. A row of a table says where each has what.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/engines/pools/pools.h"

namespace stepcast::engines {

/// By the names of both sections.
bool looks_like_pools_file(const std::string& text);

/// The word of such a file behind -c or --config_file of a command; nullptr: it names none.
const ShellWord* pools_file_word(const EngineLine& line);

struct PoolsFile {
  std::vector<EngineLine> lines;  ///< of the pool of prompts and of that of tokens
  PoolPorts ports;                ///< where they listen, as far as it says
};
/// `variant`: which of several recipes (recipe_variants.h). Errors: what is no configuration, or has no such sections.
Expected<PoolsFile> read_pools_file(const std::string& text, const std::string& where, std::string_view variant = "");

}  // namespace stepcast::engines
