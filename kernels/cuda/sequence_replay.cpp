#include "kernels/cuda/sequence_replay.h"

#include <algorithm>

namespace stepcast::kernels::gpu {

// Nothing of this may still run when its buffers go.
SequenceReplay::~SequenceReplay() {
  if (context_.use()) (void)context_.wait("end");
}

Bytes SequenceReplay::touched() const {
  Bytes sum;
  for (const auto& operation : operations_) sum += operation->touched();
  return sum;
}

Expected<void> SequenceReplay::allocate(int copies) {
  if (copies < 1) return fail("allocate", "no sets of buffers", "at least 1");
  TRY(context_.use());
  graph_ = CapturedGraph();
  copies_ = 0;
  for (const auto& operation : operations_) TRY(operation->allocate(copies));
  copies_ = copies;
  return {};
}

Expected<Check> SequenceReplay::check() {
  if (copies_ == 0) return fail("check", "there are no buffers", "allocate comes first");
  TRY(context_.use());
  Check worst{0, 1, 0};
  for (const auto& operation : operations_) {
    TRY(const auto one, operation->check());
    if (!one.good()) return one;
    worst.error = std::max(worst.error, one.allowed > 0 ? one.error / one.allowed : 0.0);
    worst.compared += one.compared;
  }
  return worst;
}

Expected<void> SequenceReplay::launch_round(int copy) {
  for (const auto& operation : operations_) TRY(operation->launch(copy, context_.stream));
  return {};
}

Expected<void> SequenceReplay::record(int calls) {
  if (copies_ == 0) return fail("record", "there are no buffers", "allocate comes first");
  if (calls < 1) return fail("record", "no calls", "at least 1");
  TRY(context_.use());
  rounds_ = 0;
  graph_ = CapturedGraph();
  TRY(timer_, GraphTimer::make());
  TRY(launch_round(0));
  TRY(context_.wait("first round"));
  if (in_graph_) {
    TRY(graph_, CapturedGraph::make(context_.stream, calls, [&](int call) { return launch_round(call % copies_); }));
  }
  rounds_ = calls;
  return {};
}

Expected<Seconds> SequenceReplay::replay(bool flush) {
  if (rounds_ == 0) return fail("replay", "nothing was recorded", "record comes first");
  if (flush) return fail("replay", "a sequence is not flushed out of the cache", "longer sequences, or larger works");
  TRY(context_.use());
  if (in_graph_) return timer_.time(context_, graph_, {});
  TRY(context_.wait("rounds"));
  const Seconds begin = host_clock();
  for (int round = 0; round < rounds_; ++round) TRY(launch_round(round % copies_));
  TRY(context_.wait("rounds"));
  return host_clock() - begin;
}

}  // namespace stepcast::kernels::gpu
