// What an engine packed into an iteration, as the name of its range says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

/// -1: not said.
struct IterationRows {
  std::int64_t prompts = -1;           ///< sequences whose prompts are read
  std::int64_t prompt_positions = -1;  ///< of all of them
  std::int64_t words = -1;             ///< sequences that get a word
  [[nodiscard]] bool known() const { return prompts >= 0 || words >= 0; }
  auto operator<=>(const IterationRows&) const = default;
};

/// Names of ranges that vLLM, SGLang and TensorRT-LLM give their iterations; nullopt: of none of them. A name of theirs
/// that says no rows has none.
std::optional<IterationRows> iteration_rows_in(std::string_view range);

}  // namespace stepcast::calibrate
