// GPU side only. A row of calls as one CUDA graph, and events that time it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <utility>

#include "kernels/cuda/gpu_context.h"

namespace stepcast::gpu {

/// What a stream was told, captured once and launched as often as wanted; nodes follow one another.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  CapturedGraph(CapturedGraph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    std::swap(exec_, other.exec_);
    return *this;
  }
  ~CapturedGraph() {
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
  }
  /// `enqueue` tells the stream what to do. Whatever fails, the capture is ended and the stream usable again. Uploaded:
  /// the first launch costs no more than the others.
  static Expected<CapturedGraph> make(cudaStream_t stream, const std::function<Expected<void>()>& enqueue);
  [[nodiscard]] bool empty() const { return exec_ == nullptr; }
  Expected<void> launch(cudaStream_t stream) const {
    return checked(cudaGraphLaunch(exec_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// A mark in a stream.
class StreamEvent {
 public:
  StreamEvent() = default;
  StreamEvent(StreamEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  StreamEvent& operator=(StreamEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~StreamEvent() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }
  static Expected<StreamEvent> make(unsigned flags = cudaEventDefault);
  Expected<void> record(cudaStream_t stream) const {
    return checked(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  Expected<void> wait() const { return checked(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  /// Whether the stream has come past it.
  [[nodiscard]] Expected<bool> passed() const;
  /// From this mark to a later one; both must have been passed.
  [[nodiscard]] Expected<Seconds> until(const StreamEvent& later) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace stepcast::gpu
