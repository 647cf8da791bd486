#include "sim/fast/standings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast::sim {

namespace {

constexpr double bound_rounding = 1e-9;

double surely(double at_least) { return at_least - bound_rounding * std::abs(at_least); }

}  // namespace

Standings::Standings(std::uint64_t top, int front)
    : top_(top), front_(front), worst_(std::numeric_limits<double>::infinity()) {}

bool Standings::dominated(const Costs& costs) const {
  for (const Costs& point : points_) {
    bool below = false, above = false;
    for (int i = 1; i <= front_ && !above; ++i) {
      above = point.of[i] > costs.of[i];
      below = below || point.of[i] < costs.of[i];
    }
    if (below && !above) return true;
  }
  return false;
}

bool Standings::open(const Costs& at_least) const {
  if (surely(at_least.of[0]) <= worst_.load(std::memory_order_relaxed) && top_ > 0) return true;
  if (front_ == 0) return false;
  Costs least = at_least;
  for (double& cost : least.of) cost = surely(cost);
  const std::shared_lock lock(mutex_);
  return !dominated(least);
}

void Standings::enter(std::uint64_t number, const Costs& costs) {
  const std::unique_lock lock(mutex_);
  if (top_ > 0) {
    list_.push({costs.of[0], number});
    if (list_.size() > top_) list_.pop();
    if (list_.size() == top_) worst_.store(list_.top().cost, std::memory_order_relaxed);
  }
  if (front_ == 0 || dominated(costs)) return;
  std::erase_if(points_, [&](const Costs& point) {
    bool better = false, worse = false;
    for (int i = 1; i <= front_; ++i) {
      better = better || costs.of[i] < point.of[i];
      worse = worse || costs.of[i] > point.of[i];
    }
    return better && !worse;
  });
  points_.push_back(costs);
}

void Shortlist::sort() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.at_least.of[0] != b.at_least.of[0] ? a.at_least.of[0] < b.at_least.of[0] : a.number < b.number;
  });
}

}  // namespace stepcast::sim
