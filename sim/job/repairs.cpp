#include "sim/job/repairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast::sim {

Repairs::Repairs(const NodePool& pool, double spread, Draws& draws)
    : log_median_(std::log(pool.repair.value()) - spread * spread / 2), spread_(spread), draws_(&draws) {
  std::vector<double> chances = repair_chances(pool);
  std::int64_t states = 0;
  double sum = 0;
  while (states < std::ssize(chances) && running_replicas(pool, states) > 0)
    sum += chances[static_cast<std::size_t>(states++)];
  double left = draws.unit() * sum;
  std::int64_t count = 0;
  while (count + 1 < states && (left -= chances[static_cast<std::size_t>(count)]) > 0) ++count;
  // What is left of a repair at a random moment is a uniform share of one that is drawn in proportion to its length: of
  // a log-normal law, the law whose median is e^(spread^2) times as long.
  for (; count > 0; --count) back_.push_back(draws.unit() * repair(spread * spread));
}

double Repairs::back_at(std::int64_t more) const {
  if (more > count()) return std::numeric_limits<double>::infinity();
  if (more == 1) return *std::ranges::min_element(back_);
  auto rest = back_;
  std::ranges::nth_element(rest, rest.begin() + (more - 1));
  return rest[static_cast<std::size_t>(more - 1)];
}

void Repairs::bring_back(double now) {
  std::erase_if(back_, [now](double back) { return back <= now; });
}

}  // namespace stepcast::sim
