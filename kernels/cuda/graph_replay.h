// GPU side only. Any operation as work to be timed: its calls as one CUDA graph, replayed between two events, with
// another operation running beside it where that was asked for.
#pragma once

#include <memory>

#include "kernels/cuda/graph_timer.h"
#include "kernels/cuda/operation.h"
#include "kernels/cuda/side_load.h"

namespace stepcast::kernels::gpu {

class GraphReplay : public PreparedWork {
 public:
  /// `beside` may be null. The context outlives this.
  GraphReplay(GpuContext& context, std::unique_ptr<Operation> timed, std::unique_ptr<Operation> beside);
  ~GraphReplay() override;
  [[nodiscard]] Bytes touched() const override { return timed_->touched(); }
  [[nodiscard]] std::string kernel() const override { return timed_->kernel(); }
  Expected<void> allocate(int copies) override;
  Expected<Check> check() override;
  Expected<void> record(int calls) override;
  Expected<Seconds> replay(bool flush) override;

 private:
  Expected<void> make_other_data();
  Expected<void> flush_cache();
  Expected<Seconds> timed_replay(bool flush);
  Expected<Seconds> replay_beside(bool flush);

  GpuContext& context_;
  std::unique_ptr<Operation> timed_;
  std::unique_ptr<SideLoad> beside_;
  CapturedGraph graph_;
  GraphTimer timer_;
  DeviceBuffer other_data_;  ///< written and read to push everything else out of the level-2 cache
  int copies_ = 0;
  int side_graphs_ = 2;  ///< how many graphs of the work beside were enough last time
};

}  // namespace stepcast::kernels::gpu
