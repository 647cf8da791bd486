// A thread that does one task after another and can be waited for with a deadline. CUDA's current device belongs to a
// thread, and calls of NCCL block until all ranks have made them: each GPU has a worker of its own.
#pragma once

#include <functional>
#include <memory>

#include "kernels/process/meeting_socket.h"

namespace stepcast::kernels {

class Worker {
 public:
  Worker();
  Worker(Worker&&) noexcept = default;
  Worker& operator=(Worker&&) = delete;
  /// One that hangs in its task is left behind: what the task uses must live as long as the task's own captures.
  ~Worker();
  /// Only after the task before has been waited for.
  void start(std::function<void()> task);
  /// False: still at it.
  [[nodiscard]] bool wait(Deadline until);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stepcast::kernels
