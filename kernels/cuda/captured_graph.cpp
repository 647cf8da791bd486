#include "kernels/cuda/captured_graph.h"

namespace stepcast::kernels::gpu {
namespace {

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
  return cudaGraphInstantiate(exec, graph, 0);
#else
  return cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
#endif
}

/// Ends the capture in any case; the first error of both is told.
Expected<cudaGraph_t> captured(cudaStream_t stream, int calls, const std::function<Expected<void>(int call)>& enqueue) {
  // Of this thread only: what other threads do meanwhile, say with memory, is no error.
  TRY(checked(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture"));
  Expected<void> told;
  for (int call = 0; told && call < calls; ++call) told = enqueue(call);
  cudaGraph_t graph = nullptr;
  const auto ended = checked(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  if (told && ended) return graph;
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  return tl::unexpected(told ? ended.error() : told.error());
}

}  // namespace

Expected<CapturedGraph> CapturedGraph::make(
    cudaStream_t stream, int calls, const std::function<Expected<void>(int call)>& enqueue) {
  TRY(const auto captured_calls, captured(stream, calls, enqueue));
  const OwnedHandle<cudaGraph_t, cudaGraphDestroy> graph(captured_calls);
  cudaGraphExec_t exec = nullptr;
  TRY(checked(instantiate(&exec, graph.get()), "cudaGraphInstantiate"));
  CapturedGraph made;
  made.exec_.reset(exec);
  TRY(checked(cudaGraphUpload(exec, stream), "cudaGraphUpload"));
  return made;
}

Expected<StreamEvent> StreamEvent::make(unsigned flags) {
  cudaEvent_t event = nullptr;
  TRY(checked(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags"));
  StreamEvent made;
  made.event_.reset(event);
  return made;
}

Expected<bool> StreamEvent::passed() const {
  const cudaError_t status = cudaEventQuery(event_.get());
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();  // an answer, not an error, but kept as one
    return false;
  }
  TRY(checked(status, "cudaEventQuery"));
  return true;
}

Expected<Seconds> StreamEvent::until(const StreamEvent& later) const {
  float milliseconds = 0;
  TRY(checked(cudaEventElapsedTime(&milliseconds, event_.get(), later.event_.get()), "cudaEventElapsedTime"));
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

}  // namespace stepcast::kernels::gpu
