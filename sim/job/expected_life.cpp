// The closed form of a life.
#include <algorithm>
#include <limits>

#include "sim/job/life.h"

namespace stepcast::sim {
namespace {

/// Shares of the time outside of planned stops.
struct PoolShares {
  UpShares up;         ///< of all time
  double waiting = 0;  ///< for nodes, or for what they would have done
};

PoolShares& add(PoolShares& sum, const UpShares& up, double chance, double running) {
  sum.up.useful += chance * running * up.useful;
  sum.waiting += chance * (1 - running) * up.useful;
  sum.up.saving += chance * up.saving;
  sum.up.lost += chance * up.lost;
  sum.up.detecting += chance * up.detecting;
  sum.up.restarting += chance * up.restarting;
  return sum;
}

/// With replicas: the shares of each number of nodes in repair, weighed with its chance. Where a node that comes back
/// completes a replica, the job saves and restarts to take it in.
PoolShares replica_shares(const LifeSettings& settings, const NodePool& pool) {
  const std::vector<double> chances = repair_chances(pool);
  PoolShares sum;
  double joins = 0;  // per second
  for (std::size_t n = 0; n < chances.size(); ++n) {
    const std::int64_t running = running_replicas(pool, static_cast<std::int64_t>(n));
    const double share = static_cast<double>(running) / static_cast<double>(pool.replicas());
    if (n > 0 && running_replicas(pool, static_cast<std::int64_t>(n) - 1) > running)
      joins += chances[n] * static_cast<double>(n) / pool.repair.value();
    if (running == 0) {
      sum.waiting += chances[n];
      continue;
    }
    FailureCosts failures = settings.failures;
    failures.per_second = settings.fixed_per_second + (failures.per_second - settings.fixed_per_second) * share;
    add(sum, up_shares(failures, settings.saves), chances[n], share);
  }
  const double joining = std::min(1.0, joins * (settings.saves.store + settings.failures.restart).value());
  PoolShares left;
  add(left, sum.up, 1 - joining, 1);
  left.waiting = (1 - joining) * sum.waiting;
  left.up.restarting += joining;
  return left;
}

PoolShares pool_shares(const LifeSettings& settings) {
  const UpShares up = up_shares(settings.failures, settings.saves);
  if (!settings.pool) return {up, 0};
  const NodePool& pool = *settings.pool;
  if (pool.replica_nodes > 0) return replica_shares(settings, pool);
  PoolShares sum;
  add(sum, up, 1 - waiting_share(pool), 1);
  sum.waiting = waiting_share(pool);
  return sum;
}

}  // namespace

LifeTimes expected_life(const LifeSettings& settings) {
  const PoolShares shares = pool_shares(settings);
  if (!(shares.up.useful > 0)) {
    LifeTimes never;
    never.lost = Seconds(std::numeric_limits<double>::infinity());
    return never;
  }
  const Seconds running = settings.work / shares.up.useful;
  LifeTimes times{settings.work, running * shares.up.saving, running * shares.up.lost, running * shares.up.detecting,
      running * shares.up.restarting, running * shares.waiting, {}, 0};
  if (settings.planned_stop > Seconds())
    times.planned = running * (settings.planned_stop / (settings.planned_every - settings.planned_stop));
  times.failures = settings.failures.per_second * (running - times.waiting).value();
  return times;
}

}  // namespace stepcast::sim
