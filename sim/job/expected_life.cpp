// The closed form of a life.
#include <algorithm>
#include <cmath>
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
PoolShares replica_shares(const LifeSettings& settings, const Saves& saves, const NodePool& pool) {
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
    add(sum, up_shares(failures, saves), chances[n], share);
  }
  const double joining = std::min(1.0, joins * (settings.saves.store + settings.failures.restart).value());
  PoolShares left;
  add(left, sum.up, 1 - joining, 1);
  left.waiting = (1 - joining) * sum.waiting;
  left.up.restarting += joining;
  return left;
}

PoolShares pool_shares(const LifeSettings& settings, const Saves& saves) {
  const UpShares up = up_shares(settings.failures, saves);
  if (!settings.pool) return {up, 0};
  const NodePool& pool = *settings.pool;
  if (pool.replica_nodes > 0) return replica_shares(settings, saves, pool);
  PoolShares sum;
  add(sum, up, 1 - waiting_share(pool), 1);
  sum.waiting = waiting_share(pool);
  return sum;
}

LifeTimes never_done() {
  LifeTimes never;
  never.lost = Seconds(std::numeric_limits<double>::infinity());
  return never;
}

/// Of so much work with these saves in the long run, without planned stops and failures.
LifeTimes times_of(const LifeSettings& settings, const Saves& saves, Seconds work) {
  const PoolShares shares = pool_shares(settings, saves);
  if (!(shares.up.useful > 0)) return never_done();
  const Seconds running = work / shares.up.useful;
  return {work, running * shares.up.saving, running * shares.up.lost, running * shares.up.detecting,
      running * shares.up.restarting, running * shares.waiting, {}, 0};
}

/// Of pieces of `length`, the last shorter; what is left of a piece by rounding is none.
double pieces_of(Seconds work, Seconds length) { return std::max(1.0, std::ceil(work / length - 1e-9)); }

/// Of the work behind the last checkpoint in storage: intervals saved to memory and a last piece, behind which nothing
/// is saved. What that piece lacks of an interval is put as a save of less than no time.
LifeTimes times_of_rest(const LifeSettings& settings, Seconds rest) {
  const Saves& saves = settings.saves;
  const double pieces = pieces_of(rest, saves.interval);
  if (pieces == 1) return times_of(settings, {rest, Seconds(), Seconds(), 1, Seconds()}, rest);
  const Seconds all = saves.interval * pieces, lacking = rest - all;
  LifeTimes times =
      times_of(settings, {saves.interval, lacking, Seconds(), static_cast<std::int64_t>(pieces), saves.keep}, all);
  times.useful += lacking, times.saving += all - rest;
  return times;
}

LifeTimes& add(LifeTimes& sum, const LifeTimes& more) {
  sum.useful += more.useful, sum.saving += more.saving, sum.lost += more.lost, sum.detecting += more.detecting;
  sum.restarting += more.restarting, sum.waiting += more.waiting;
  return sum;
}

}  // namespace

// Between checkpoints in storage a job is renewed: each period takes what it takes in the long run, and so does the
// rest as a period of its own, without a save at its end.
LifeTimes expected_life(const LifeSettings& settings) {
  const Saves& saves = settings.saves;
  const Seconds period = saves.interval * static_cast<double>(saves.per_stored);
  const double stored = pieces_of(settings.work, period) - 1;
  const Seconds rest = settings.work - period * stored;
  LifeTimes times;
  const bool has_rest = rest > Seconds();
  if (stored > 0 || !has_rest) times = times_of(settings, saves, period * stored);
  if (has_rest) add(times, times_of_rest(settings, rest));
  times.useful = settings.work;
  const Seconds running = times.whole();
  if (!std::isfinite(running.value())) return never_done();
  if (settings.planned_stop > Seconds())
    times.planned = running * (settings.planned_stop / (settings.planned_every - settings.planned_stop));
  times.failures = settings.failures.per_second * (running - times.waiting).value();
  return times;
}

}  // namespace stepcast::sim
