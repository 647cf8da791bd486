// What a step costs once, whatever passes the pipeline: gradient and parameter collectives of each block, optimizer,
// norm, host, and the bytes that stay. From a lowered program; how its layers lie on stages does not matter.
#pragma once

#include <optional>
#include <vector>

#include "sim/cost.h"
#include "sim/fast/stage_shape.h"

namespace stepcast::sim {

/// Once-per-step moves of one block on one side (gradients, or parameters): seconds per copy, and the fabric tiers of
/// what overlaps.
struct OnceMoves {
  double beside = 0, serial = 0;
  unsigned tiers = 0;
};

struct BlockOnce {
  OnceMoves gradients, parameters;
  double optimizer_elements = 0;
  double persistent = 0;  ///< bytes of weights, gradients and optimizer states
};

/// On one kind of rank.
struct RankOnce {
  double persistent = 0;                                                                            ///< bytes
  double gradients_beside = 0, gradients_serial = 0, parameters_beside = 0, parameters_serial = 0;  ///< seconds
};

/// What goes from stage to stage, per sequence of a micro-batch.
struct CrossingStream {
  Bytes bytes;
  std::optional<Move> gather;
  Group group;
};
/// `micro_batch` of the program, in sequences. Nothing crosses where there is one stage.
CrossingStream crossing_stream(const Program& program, double micro_batch);

class StepCosts {
 public:
  /// `cost` with the program's ranks; it must outlive this.
  StepCosts(const Program& program, const CostModel& cost);

  [[nodiscard]] const BlockOnce& block(int index) const { return blocks_[index]; }
  [[nodiscard]] RankOnce on_rank(const std::vector<BlockRun>& runs) const;
  /// Norm read and optimizer of the rank with the most elements, among ranks that run these.
  [[nodiscard]] double updates(const StageShape& shape) const;
  /// Data wait, host, copy to the device, and what stands serially behind the pipeline on every rank.
  [[nodiscard]] double fixed() const { return fixed_; }
  /// Seconds of the shortest send between neighbouring stages, with the gather behind it; 0 with one stage.
  [[nodiscard]] double hop(const CrossingStream& stream, double micro_batch) const;
  /// Bytes that stay, per rank, on the mean of the stages: no rank layout leaves the fullest rank with less.
  [[nodiscard]] double mean_persistent() const { return mean_persistent_; }
  [[nodiscard]] double contention() const { return contention_; }

 private:
  void find_sends(const Program& program);
  [[nodiscard]] double serial_moves(const Program& program) const;

  const CostModel* cost_;
  std::vector<BlockOnce> blocks_;
  double gradient_bytes_ = 0, optimizer_bytes_ = 0;  ///< traffic per element
  struct Send {
    std::int64_t from = 0, to = 0;
  };
  std::vector<Send> sends_;  ///< one per fabric tier in use
  double fixed_ = 0, contention_ = 0, mean_persistent_ = 0;
};

/// Once-per-step costs of a shape.
struct OnceOnShape {
  const StepCosts* costs = nullptr;
  const StageShape* shape = nullptr;
  std::vector<RankOnce> ranks;  ///< by kind of rank
  double updates = 0;           ///< seconds: norm and optimizer
};
OnceOnShape once_on_shape(const StepCosts& costs, const StageShape& shape);

}  // namespace stepcast::sim
