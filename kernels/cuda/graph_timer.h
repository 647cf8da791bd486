// GPU side only. How long a graph takes on the GPU, without the way from the host to it.
#pragma once

#include <functional>

#include "kernels/cuda/captured_graph.h"

namespace stepcast::kernels::gpu {

/// A steady clock of the host.
Seconds host_clock();

class GraphTimer {
 public:
  static Expected<GraphTimer> make();
  /// `before` is enqueued first and not timed; may be empty. Waits until the graph has ended.
  Expected<Seconds> time(
      const GpuContext& context, const CapturedGraph& graph, const std::function<Expected<void>()>& before);

 private:
  /// One try; `late` says that the GPU was ready before the graph had been launched.
  Expected<Seconds> attempt(cudaStream_t stream, const CapturedGraph& graph, bool& late);
  StreamEvent begin_, end_;
  Seconds launch_time_{100e-6};  ///< how long launching the graph keeps the host, at most
};

}  // namespace stepcast::kernels::gpu
