// Nodes in repair, drawn one by one: when each is back.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/job/draws.h"
#include "sim/job/node_pool.h"

namespace stepcast::sim {

/// Repair times are log-normal with the pool's mean and this standard deviation of the logarithm (0: all alike). As
/// many nodes are in repair at time 0 as are at a random moment at which the job runs: a job begins when it has its
/// nodes. In the time that the job runs the pool is stationary from there on, so that the law of the long run holds in
/// the mean for jobs of any length.
class Repairs {
 public:
  Repairs(const NodePool& pool, double spread, Draws& draws);
  /// Those that were back at the last bring_back() are not counted.
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(back_.size()); }
  /// When so many more nodes are back, 1 = the next; never where there are not so many.
  [[nodiscard]] double back_at(std::int64_t more) const;
  void take(double now) { back_.push_back(now + repair(0)); }
  void bring_back(double now);

 private:
  /// The law's median times e^shift.
  double repair(double shift) {
    return std::exp(log_median_ + shift + (spread_ == 0 ? 0 : spread_ * draws_->normal()));
  }

  double log_median_, spread_;
  Draws* draws_;
  std::vector<double> back_;  ///< in no order: most are never looked at but to be counted
};

}  // namespace stepcast::sim
