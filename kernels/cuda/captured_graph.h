// GPU side only. A row of calls as one CUDA graph, and events that time it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "kernels/cuda/gpu_context.h"

namespace stepcast::kernels::gpu {

/// What a stream was told, captured once and launched as often as wanted; nodes follow one another.
class CapturedGraph {
 public:
  /// `enqueue` tells the stream what each of the calls does. Whatever fails, the capture is ended and the stream usable
  /// again. Uploaded: the first launch costs no more than the others.
  static Expected<CapturedGraph> make(
      cudaStream_t stream, int calls, const std::function<Expected<void>(int call)>& enqueue);
  [[nodiscard]] bool empty() const { return exec_ == nullptr; }
  Expected<void> launch(cudaStream_t stream) const {
    return checked(cudaGraphLaunch(exec_.get(), stream), "cudaGraphLaunch");
  }

 private:
  OwnedHandle<cudaGraphExec_t, cudaGraphExecDestroy> exec_;
};

/// A mark in a stream.
class StreamEvent {
 public:
  static Expected<StreamEvent> make(unsigned flags = cudaEventDefault);
  Expected<void> record(cudaStream_t stream) const {
    return checked(cudaEventRecord(event_.get(), stream), "cudaEventRecord");
  }
  Expected<void> wait() const { return checked(cudaEventSynchronize(event_.get()), "cudaEventSynchronize"); }
  /// Whether the stream has come past it.
  [[nodiscard]] Expected<bool> passed() const;
  /// From this mark to a later one; both must have been passed.
  [[nodiscard]] Expected<Seconds> until(const StreamEvent& later) const;

 private:
  OwnedHandle<cudaEvent_t, cudaEventDestroy> event_;
};

}  // namespace stepcast::kernels::gpu
