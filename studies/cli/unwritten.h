// A file that was to be written and could not be: its device has no room, or nobody reads it.
#pragma once

#include <stdexcept>

#include "model/base/namespaces.h"

namespace stepcast::cli {

/// Ends the program with exit code 1: no fault of the question or of the program.
class Unwritten : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace stepcast::cli
