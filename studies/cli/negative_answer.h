// A question that was answered in full, and the answer is no.
#pragma once

#include <stdexcept>

#include "model/base/namespaces.h"

namespace stepcast::cli {

/// Ends the program with exit code 1 and this text on stderr, behind what was printed: "2 of 5 cases are slower".
class NegativeAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace stepcast::cli
