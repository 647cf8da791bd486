// GPU side only. An operation that keeps a second stream of the GPU busy while something else is timed.
#pragma once

#include <memory>

#include "kernels/cuda/captured_graph.h"
#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {

class SideLoad {
 public:
  SideLoad(GpuContext& context, std::unique_ptr<Operation> operation)
      : context_(context), operation_(std::move(operation)) {}
  /// Sets of buffers that together exceed the level-2 cache, so that the load is the one that large work makes.
  Expected<void> allocate();
  /// A graph of it that takes a few milliseconds.
  Expected<void> record();
  /// Launches the graph `times` times and returns once the first of them has begun.
  Expected<void> start(int times);
  /// Whether it still runs. Asked after what was timed has ended.
  [[nodiscard]] Expected<bool> running() const;
  /// Waits until it has ended.
  Expected<void> drain();

 private:
  Expected<Seconds> time_of_one();
  GpuContext& context_;
  std::unique_ptr<Operation> operation_;
  CapturedGraph graph_;
  StreamEvent begun_, ended_;
  int copies_ = 0;
};

}  // namespace stepcast::kernels::gpu
