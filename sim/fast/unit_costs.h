// How long one micro-batch takes in each block of a program, by the streams. Neither how layers lie on stages nor what
// happens once per step is in it, so that one of these serves all steps that differ in those alone.
#pragma once

#include <vector>

#include "sim/cost.h"
#include "sim/fast/stage_shape.h"
#include "sim/streams.h"
#include "sim/streams/walk_lists.h"

namespace stepcast::sim {

/// One virtual stage; seconds of one micro-batch.
struct StageCost {
  double forward = 0, input_grad = 0, weight_grad = 0;
  double compute = 0;  ///< forward and backward without waiting for moves
  std::vector<double> run_forward, run_backward;
  [[nodiscard]] double backward() const { return input_grad + weight_grad; }
  [[nodiscard]] double all() const { return forward + input_grad + weight_grad; }
};

class UnitCosts {
 public:
  /// `lists` are those of the program's blocks; `cost` with the program's ranks, it must outlive this.
  UnitCosts(WalkLists lists, const CostModel& cost);
  /// `paired`: the schedule's paired_share().
  UnitCosts(const Program& program, const CostModel& cost, double paired = 0);

  /// Into `cost`, whose room is used again.
  void lay_stage(const std::vector<BlockRun>& runs, StageCost& cost) const;
  /// Seconds per copy of a block that its own moves hold each fabric tier, by tier: forward and backward list.
  [[nodiscard]] const std::vector<double>& fabric_forward(int block) const { return fabric_[block].forward; }
  [[nodiscard]] const std::vector<double>& fabric_backward(int block) const { return fabric_[block].backward; }

 private:
  // clang-format off
  struct Fabric { std::vector<double> forward, backward; };
  // clang-format on

  const StageCost& walked_once(const std::vector<BlockRun>& runs) const;
  void find_fabric();
  [[nodiscard]] bool adds_up() const;
  [[nodiscard]] StageCost walked(const std::vector<BlockRun>& runs) const;

  WalkLists lists_;
  std::vector<Fabric> fabric_;
  /// of one copy, where copies simply add up; empty where moves run beside kernels
  std::vector<StageCost> blocks_;
  struct Walked {
    std::vector<BlockRun> runs;
    StageCost cost;
  };
  mutable std::vector<Walked> walked_;  ///< what has been asked before; one thread at a time
  OverlapLaw overlap_;
  int tiers_ = 1;
};

}  // namespace stepcast::sim
