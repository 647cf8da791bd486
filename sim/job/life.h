// Lives of a job, from its first step to its last, drawn failure by failure; and the same by the laws of the long run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/job/goodput.h"
#include "sim/job/node_pool.h"

namespace stepcast::sim {

struct LifeSettings {
  Seconds work;  ///< of steps on all nodes, without anything else
  FailureCosts failures;
  double fixed_per_second = 0;   ///< of the failures, those that do not grow with the nodes in use
  Saves saves;                   ///< a pool with replicas needs saves that all are stored
  std::optional<NodePool> pool;  ///< absent: a node is always at hand
  /// of a log-normal law of repair times, the standard deviation of the logarithm; 0: all take the mean
  double repair_spread = 0;
  Seconds planned_every, planned_stop;  ///< so much of each such time is planned stops; 0: none
};

/// Where the time goes. The parts but `failures` sum to whole().
struct LifeTimes {
  Seconds useful, saving, lost, detecting, restarting;
  Seconds waiting;  ///< for nodes; of a job that runs on fewer replicas, the work that the missing ones would have done
  Seconds planned;
  double failures = 0;
  [[nodiscard]] Seconds whole() const { return useful + saving + lost + detecting + restarting + waiting + planned; }
  [[nodiscard]] double goodput() const { return useful / whole(); }
};

/// The mean of lives of settings.work, which end without a checkpoint: closed form. Exact but for replicas, where a job
/// is taken to be in the long run of each number of them, right where repairs take much longer than restarts, and for
/// planned stops, in the long run as well. Where nothing gets done the loss is infinite.
LifeTimes expected_life(const LifeSettings& settings);

/// A life. The pool's nodes have been in use for long when it begins. `most` is where it ends though its work is not
/// done, useful then being what is.
LifeTimes draw_life(const LifeSettings& settings, std::uint64_t seed, Seconds most);
/// How such a life goes: work in hand when a failure comes, and what is left of it when steps go on, until `until`.
struct LifePoint {
  Seconds time, work;
};
std::vector<LifePoint> draw_progress(const LifeSettings& settings, std::uint64_t seed, Seconds until);
std::vector<LifeTimes> draw_lives(const LifeSettings& settings, std::int64_t count, std::uint64_t seed, Seconds most);

}  // namespace stepcast::sim
