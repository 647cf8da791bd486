// GPU side only. Operations one after the other as work to be timed: all of a round as nodes of one CUDA graph, or each
// launched by the host.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/graph_timer.h"
#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {

class SequenceReplay : public PreparedWork {
 public:
  /// The context outlives this; `operations` is not empty.
  SequenceReplay(GpuContext& context, std::vector<std::unique_ptr<Operation>> operations, bool in_graph)
      : context_(context), operations_(std::move(operations)), in_graph_(in_graph) {}
  ~SequenceReplay() override;
  [[nodiscard]] Bytes touched() const override;
  Expected<void> allocate(int copies) override;
  /// The worst of the operations' checks, as a share of what each allows: allowed is 1.
  Expected<Check> check() override;
  Expected<void> record(int calls) override;
  /// Fails with `flush`: a round is larger than the cache, or it is not timed here.
  Expected<Seconds> replay(bool flush) override;

 private:
  Expected<void> launch_round(int copy);

  GpuContext& context_;
  std::vector<std::unique_ptr<Operation>> operations_;
  bool in_graph_;
  CapturedGraph graph_;
  GraphTimer timer_;
  int copies_ = 0, rounds_ = 0;
};

}  // namespace stepcast::kernels::gpu
