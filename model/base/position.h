// Where something stands in a text, for errors.
#pragma once

#include <string>

namespace stepcast {

/// Where a statement stands in its text, 1-based; line 0 = made by the program.
struct Position {
  std::string file;
  int line = 0, column = 0;
  friend bool operator==(const Position&, const Position&) { return true; }  ///< trees compare by meaning
};

}  // namespace stepcast
