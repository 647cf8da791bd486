#include "kernels/cuda/graph_timer.h"

#include <algorithm>
#include <chrono>

namespace stepcast::kernels::gpu {
namespace {

constexpr int kMostTries = 8;
constexpr Seconds kLongestHold{20e-3};

/// Keeps the stream busy until the host has enqueued what follows. Without it the first event would be passed while the
/// graph is still on its way, and the way would be timed.
__global__ void hold_stream(unsigned long long nanoseconds) {
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

Expected<void> hold(cudaStream_t stream, Seconds duration) {
  const Seconds bounded = std::min(duration, kLongestHold);
  hold_stream<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(1e9 * bounded.value()));
  return checked(cudaGetLastError(), "hold of the stream");
}

}  // namespace

Seconds host_clock() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

Expected<GraphTimer> GraphTimer::make() {
  GraphTimer timer;
  TRY(timer.begin_, StreamEvent::make());
  TRY(timer.end_, StreamEvent::make());
  return timer;
}

Expected<Seconds> GraphTimer::attempt(cudaStream_t stream, const CapturedGraph& graph, bool& late) {
  TRY(hold(stream, 1.5 * launch_time_ + Seconds(20e-6)));
  const Seconds before = host_clock();
  TRY(begin_.record(stream));
  TRY(graph.launch(stream));
  TRY(end_.record(stream));  // before the question: a mark that comes after a short graph has ended would be late, too
  const auto begun = begin_.passed();
  // One slow launch is not remembered for long.
  launch_time_ = std::max(host_clock() - before, 0.9 * launch_time_);
  TRY(end_.wait());
  if (!begun) return tl::unexpected(begun.error());
  late = *begun;
  return begin_.until(end_);
}

Expected<Seconds> GraphTimer::time(
    const GpuContext& context, const CapturedGraph& graph, const std::function<Expected<void>()>& before) {
  Expected<Seconds> time = Seconds();
  bool late = true;
  for (int tries = 0; tries < kMostTries && late; ++tries) {
    if (before) {
      TRY(before());
    }
    time = attempt(context.stream, graph, late);
    if (!time) {
      (void)cudaStreamSynchronize(context.stream);  // nothing of the try is left behind
      return time;
    }
  }
  if (late)
    return fail("replay", "the host launches graphs later than the GPU gets to them, in every try",
        "something else keeps this host's processors busy: measure on a quiet one");
  return time;
}

}  // namespace stepcast::kernels::gpu
