#include "kernels/cuda/side_load.h"

#include <algorithm>
#include <cmath>

namespace stepcast::kernels::gpu {
namespace {

constexpr double kCachesTouched = 3;  // as cold rotations do (calibrate/measure/method.h)
constexpr int kMostSideCopies = 64;
constexpr Seconds kSideGraph{5e-3};  // long beside a launch, short beside what is timed
constexpr int kMostSideCalls = 1024;

}  // namespace

Expected<void> SideLoad::allocate() {
  const double touched = std::max(operation_->touched().value(), 1.0);
  const double wanted = std::ceil(kCachesTouched * context_.device.l2.value() / touched);
  copies_ = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMostSideCopies)));
  graph_ = CapturedGraph();
  return operation_->allocate(copies_);
}

Expected<Seconds> SideLoad::time_of_one() {
  const cudaStream_t stream = context_.side_stream;
  TRY(const auto first, StreamEvent::make());
  TRY(const auto last, StreamEvent::make());
  constexpr int calls = 4;  // the first loads the kernel and is not timed
  for (int call = 0; call <= calls; ++call) {
    if (call == 1) {
      TRY(first.record(stream));
    }
    TRY(operation_->launch(call % copies_, stream));
  }
  TRY(last.record(stream));
  TRY(last.wait());
  TRY(const auto time, first.until(last));
  return time / calls;
}

Expected<void> SideLoad::record() {
  if (!graph_.empty()) return {};
  TRY(begun_, StreamEvent::make(cudaEventDisableTiming));
  TRY(ended_, StreamEvent::make(cudaEventDisableTiming));
  TRY(const auto one, time_of_one());
  const double wanted = std::ceil(kSideGraph / std::max(one, Seconds(1e-7)));
  const int calls = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMostSideCalls)));
  TRY(graph_, CapturedGraph::make(context_.side_stream, calls,
                  [&](int call) { return operation_->launch(call % copies_, context_.side_stream); }));
  return {};
}

Expected<void> SideLoad::start(int times) {
  const cudaStream_t stream = context_.side_stream;
  // One call of its own comes first: once it has ended, the graphs behind it run.
  TRY(operation_->launch(0, stream));
  TRY(begun_.record(stream));
  for (int i = 0; i < times; ++i) {
    TRY(graph_.launch(stream));
  }
  TRY(ended_.record(stream));
  return begun_.wait();
}

Expected<bool> SideLoad::running() const {
  TRY(const bool passed, ended_.passed());
  return !passed;
}

Expected<void> SideLoad::drain() {
  return checked(cudaStreamSynchronize(context_.side_stream), "work beside: cudaStreamSynchronize");
}

}  // namespace stepcast::kernels::gpu
