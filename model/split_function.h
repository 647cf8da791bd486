// Functions of networks that software runs operation by operation, each a kernel: rows of stacks and engines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/row_text.h"

namespace stepcast {

struct SplitFunction {
  std::string function;      ///< "rmsnorm", "rope", "swiglu", ...
  double moved = 1;          ///< bytes over those of reading its input and writing its output once in bf16
  std::int64_t kernels = 1;  ///< that it takes
  friend bool operator==(const SplitFunction&, const SplitFunction&) = default;
};

/// The list "one_by_one" of a row; absent: none.
void read_split_functions(JsonObject& file, std::vector<SplitFunction>& functions);
void write_split_functions(RowWriter& json, const std::vector<SplitFunction>& functions);

}  // namespace stepcast
