// Requests that TensorRT-LLM's prepare_dataset writes for its benchmark, by the words that call it
// (NVIDIA/TensorRT-LLM, benchmarks/cpp/prepare_dataset.py and tensorrt_llm/bench/dataset/prepare_dataset.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {

/// All of one length.
struct MadeRequests {
  std::int64_t count = 0, input = 0, output = 0;
  std::string file;  ///< that they are written to, also by a redirection; "": the program's own, or not told
  bool operator==(const MadeRequests&) const = default;
};

/// Does the command write requests, and start no engine?
bool makes_requests(const EngineLine& line);
/// nullopt: they have lengths of their own, or those of a file.
std::optional<MadeRequests> made_requests(const EngineLine& line);

}  // namespace stepcast::engines
