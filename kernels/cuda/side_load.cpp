#include "kernels/cuda/side_load.h"

#include <algorithm>
#include <cmath>

namespace stepcast::gpu {
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
  auto first = StreamEvent::make();
  auto last = StreamEvent::make();
  if (!first || !last) return tl::unexpected(!first ? first.error() : last.error());
  constexpr int calls = 4;  // the first loads the kernel and is not timed
  for (int call = 0; call <= calls; ++call) {
    if (call == 1) {
      TRY(first->record(stream));
    }
    TRY(operation_->launch(call % copies_, stream));
  }
  TRY(last->record(stream));
  TRY(last->wait());
  const auto time = first->until(*last);
  return time ? Expected<Seconds>(*time / calls) : time;
}

Expected<void> SideLoad::record() {
  if (!graph_.empty()) return {};
  auto begun = StreamEvent::make(cudaEventDisableTiming);
  auto ended = StreamEvent::make(cudaEventDisableTiming);
  if (!begun || !ended) return tl::unexpected(!begun ? begun.error() : ended.error());
  begun_ = std::move(*begun);
  ended_ = std::move(*ended);
  TRY(const auto one, time_of_one());
  const double wanted = std::ceil(kSideGraph / std::max(one, Seconds(1e-7)));
  const int calls = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMostSideCalls)));
  auto graph = CapturedGraph::make(context_.side_stream, [&]() -> Expected<void> {
    for (int call = 0; call < calls; ++call) {
      TRY(operation_->launch(call % copies_, context_.side_stream));
    }
    return {};
  });
  if (!graph) return tl::unexpected(std::move(graph.error()));
  graph_ = std::move(*graph);
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
  const auto passed = ended_.passed();
  return passed ? Expected<bool>(!*passed) : passed;
}

Expected<void> SideLoad::drain() {
  return checked(cudaStreamSynchronize(context_.side_stream), "work beside: cudaStreamSynchronize");
}

}  // namespace stepcast::gpu
