// Prices of a step whose ranks may be of several kinds. A stage's ranks are all of one kind; what passes between kinds
// takes as long as the slower side needs for it over its outermost tier.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost.h"

namespace stepcast::sim {

/// Ranks that are alike, with consecutive numbers.
struct RankKind {
  CostModel cost;    ///< of what stays among them
  CostModel across;  ///< of what leaves them: the same, or with another outermost tier
  std::int64_t first_rank = 0;
};

class StageCosts {
 public:
  /// All ranks are alike.
  StageCosts(const CostModel& cost) : kinds_{{cost, cost, 0}} {}  // NOLINT(google-explicit-constructor)
  /// `kind_of_stage`: an index for each stage. A group stays among ranks of a kind where the blocks that it is made of
  /// (outermost stride x size) divide `alike`.
  StageCosts(std::vector<RankKind> kinds, std::vector<int> kind_of_stage, std::int64_t alike)
      : kinds_(std::move(kinds)), kind_of_stage_(std::move(kind_of_stage)), alike_(alike) {}
  [[nodiscard]] StageCosts with_ranks(std::int64_t ranks) const;

  [[nodiscard]] const std::vector<RankKind>& kinds() const { return kinds_; }
  [[nodiscard]] int kind_of(int stage) const { return kind_of_stage_.empty() ? 0 : kind_of_stage_[stage]; }
  [[nodiscard]] const CostModel& of(int stage) const { return kinds_[kind_of(stage)].cost; }

  /// Does the group have ranks of more than one kind?
  [[nodiscard]] bool leaves(const Group& group) const;
  /// Of a move that ranks of every kind do, or that leaves them: the slowest.
  [[nodiscard]] Price slowest(const Move& move, const Group& group) const;
  /// Between the first ranks of two stages, `stride` ranks each.
  [[nodiscard]] Price send(Bytes bytes, int from, int to, std::int64_t stride) const;

 private:
  std::vector<RankKind> kinds_;
  std::vector<int> kind_of_stage_;
  std::int64_t alike_ = 0;
};

}  // namespace stepcast::sim
