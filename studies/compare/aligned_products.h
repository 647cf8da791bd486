// Products of one side that are those of the other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/base/namespaces.h"

namespace stepcast::comparison {

/// Products of one side that are those of the other.
struct AlignedProducts {
  std::string name;                   ///< of the expected operators: "attn.qkv", "attn.qkv, attn.out"
  double expected = 0, measured = 0;  ///< seconds
  std::size_t expected_calls = 0, measured_calls = 0;
};

struct Alignment {
  std::vector<AlignedProducts> products;  ///< empty: they are not told apart
  std::string how;                        ///< or why not
};

}  // namespace stepcast::comparison
