#include "sim/job/repairs.h"

#include <cmath>
#include <limits>

namespace stepcast::sim {

Repairs::Repairs(const NodePool& pool, double spread, Draws& draws)
    : log_median_(std::log(pool.repair.value()) - spread * spread / 2), spread_(spread), draws_(&draws) {
  double left = draws.unit();
  std::int64_t count = 0;
  for (const double chance : repair_chances(pool)) {
    left -= chance;
    if (left <= 0) break;
    ++count;
  }
  // What is left of a repair at a random moment is a uniform share of one that is drawn in proportion to its length: of
  // a log-normal law, the law whose median is e^(spread^2) times as long.
  for (; count > 0; --count)
    back_.push(draws.unit() * std::exp(log_median_ + spread * spread + spread * draws.normal()));
}

double Repairs::back_at(std::int64_t more) const {
  if (more > count()) return std::numeric_limits<double>::infinity();
  if (more == 1) return back_.top();
  auto rest = back_;
  for (; more > 1; --more) rest.pop();
  return rest.top();
}

void Repairs::take(double now) { back_.push(now + std::exp(log_median_ + spread_ * draws_->normal())); }

void Repairs::bring_back(double now) {
  while (!back_.empty() && back_.top() <= now) back_.pop();
}

}  // namespace stepcast::sim
