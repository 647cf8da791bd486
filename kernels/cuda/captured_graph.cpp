#include "kernels/cuda/captured_graph.h"

namespace stepcast::gpu {
namespace {

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
  return cudaGraphInstantiate(exec, graph, 0);
#else
  return cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
#endif
}

/// Ends the capture in any case; the first error of both is told.
Expected<cudaGraph_t> captured(cudaStream_t stream, const std::function<Expected<void>()>& enqueue) {
  // Of this thread only: what other threads do meanwhile, say with memory, is no error.
  const auto begun =
      checked(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  if (!begun) return tl::unexpected(begun.error());
  const auto told = enqueue();
  cudaGraph_t graph = nullptr;
  const auto ended = checked(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  if (told && ended) return graph;
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  return tl::unexpected(told ? ended.error() : told.error());
}

}  // namespace

Expected<CapturedGraph> CapturedGraph::make(cudaStream_t stream, const std::function<Expected<void>()>& enqueue) {
  TRY(const auto graph, captured(stream, enqueue));
  CapturedGraph made;
  const auto instantiated = checked(instantiate(&made.exec_, graph), "cudaGraphInstantiate");
  (void)cudaGraphDestroy(graph);
  if (!instantiated) {
    made.exec_ = nullptr;
    return tl::unexpected(instantiated.error());
  }
  TRY(checked(cudaGraphUpload(made.exec_, stream), "cudaGraphUpload"));
  return made;
}

Expected<StreamEvent> StreamEvent::make(unsigned flags) {
  StreamEvent made;
  TRY(checked(cudaEventCreateWithFlags(&made.event_, flags), "cudaEventCreateWithFlags"));
  return made;
}

Expected<bool> StreamEvent::passed() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();  // an answer, not an error, but kept as one
    return false;
  }
  TRY(checked(status, "cudaEventQuery"));
  return true;
}

Expected<Seconds> StreamEvent::until(const StreamEvent& later) const {
  float milliseconds = 0;
  TRY(checked(cudaEventElapsedTime(&milliseconds, event_, later.event_), "cudaEventElapsedTime"));
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

}  // namespace stepcast::gpu
