// Nodes in repair, drawn one by one: when each is back.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/job/draws.h"
#include "sim/job/node_pool.h"

namespace stepcast::sim {

/// Repair times are log-normal with the pool's mean and this standard deviation of the logarithm (0: all alike). As
/// many nodes are in repair at time 0 as are at a random moment.
class Repairs {
 public:
  Repairs(const NodePool& pool, double spread, Draws& draws);
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(back_.size()); }
  /// When so many more nodes are back, 1 = the next; never where there are not so many.
  [[nodiscard]] double back_at(std::int64_t more) const;
  void take(double now);
  void bring_back(double now);

 private:
  double log_median_, spread_;
  Draws* draws_;
  std::priority_queue<double, std::vector<double>, std::greater<>> back_;
};

}  // namespace stepcast::sim
