// Functions of networks that software runs operation by operation, each a kernel: rows of stacks and engines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/row_text.h"

namespace stepcast {

struct SplitFunction {
  std::string function;  ///< of model/network/operator.h: "rmsnorm", "rope", "swiglu", ...
  /// its time over that of one kernel that reads what the function reads and writes what it writes; the bytes that a
  /// forecast shows are as many
  double passes = 1;
  std::int64_t kernels = 0;  ///< of one operator; 0: not told, it is launched as one with its group
  std::int64_t kept = 0;     ///< results on its way that backward reads, each as large as what it gives
  friend bool operator==(const SplitFunction&, const SplitFunction&) = default;
};

/// The list "one_by_one" of a row; absent: none. A function stands there once.
void read_split_functions(JsonObject& file, std::vector<SplitFunction>& functions);
void write_split_functions(RowWriter& json, const std::vector<SplitFunction>& functions);

}  // namespace stepcast
