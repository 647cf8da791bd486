// Ctrl-C (and a batch system's SIGTERM) as a question that long work asks, instead of an end in the middle of it.
#pragma once

namespace stepcast {

/// While one of these lives the first signal only sets interrupted(); a second one ends the program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace stepcast
