#include "sim/job/node_pool.h"

#include <algorithm>

namespace stepcast::sim {

std::int64_t running_replicas(const NodePool& pool, std::int64_t in_repair) {
  const std::int64_t missing = std::max<std::int64_t>(0, in_repair - pool.spares);
  if (pool.replica_nodes == 0) return missing == 0 ? 1 : 0;
  return std::min(pool.replicas(), (pool.nodes - missing) / pool.replica_nodes);
}

std::vector<double> repair_chances(const NodePool& pool) {
  // Birth and death: n rises at the rate of the nodes in use and falls at n / repair. Scaled as it goes, so that long
  // chains do not overflow.
  std::vector<double> chances{1};
  double sum = 1;
  const auto whole = static_cast<double>(pool.replicas());
  for (std::int64_t n = 0; n < pool.nodes + pool.spares; ++n) {
    const double rate = pool.taken_per_second * static_cast<double>(running_replicas(pool, n)) / whole;
    if (rate == 0) break;
    const double next = chances.back() * rate * pool.repair.value() / static_cast<double>(n + 1);
    chances.push_back(next);
    sum += next;
    if (next < 1e-18 * sum && n > pool.taken_per_second * pool.repair.value()) break;
    constexpr double large = 1e200;
    if (sum > large) {
      for (double& chance : chances) chance /= large;
      sum /= large;
    }
  }
  for (double& chance : chances) chance /= sum;
  return chances;
}

double waiting_share(const NodePool& pool) {
  // B(n) = a B(n-1) / (n + a B(n-1)), B(0) = 1.
  const double load = pool.taken_per_second * pool.repair.value();
  double blocked = 1;
  for (std::int64_t n = 1; n <= pool.spares + 1; ++n)
    blocked = load * blocked / (static_cast<double>(n) + load * blocked);
  return blocked;
}

std::int64_t spares_for(NodePool pool, double most_waiting) {
  const double load = pool.taken_per_second * pool.repair.value();
  double blocked = load / (1 + load);
  std::int64_t spares = 0;
  while (blocked > most_waiting) {
    ++spares;
    blocked = load * blocked / (static_cast<double>(spares + 1) + load * blocked);
  }
  return spares;
}

}  // namespace stepcast::sim
