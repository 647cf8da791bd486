// Ctrl-C (and a batch system's SIGTERM) as a question that long work asks, instead of an end in the middle of it.
#pragma once

#include <stdexcept>

namespace stepcast::cli {

/// Ends the program with exit code 1 and this text, when what was done until then has been told: "interrupted: 5 of 10
/// are done".
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// While one of these lives the first signal only sets interrupted(); a second one ends the program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace stepcast::cli
