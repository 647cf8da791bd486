// Says how long one planned collective is timed, and what it is called. Only the plan and the campaign use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "calibrate/measure/collectives/planned_collective.h"
#include "calibrate/measure/method.h"

namespace stepcast::calibrate {

/// Hundreds of sizes, groups and kinds share the time: less for each than a product gets.
inline constexpr Seconds longest_collective{60e-3};
/// The duration of each of the four things that a measurement of interference times.
inline constexpr Seconds beside_duration{50e-3};

inline MethodRules collective_rules(MethodRules rules) {
  rules.longest_work = std::min(rules.longest_work, longest_collective);
  return rules;
}

inline CollectiveQuery query_of(const PlannedCollective& call) {
  return {call.kind, static_cast<std::int64_t>(call.group.ranks.size()), call.group.nodes, call.buffer};
}
/// What a fabric is taken to do before anything was timed: enough to plan with.
struct FabricGuess {
  Seconds latency;
  BytesPerSecond bus;
};
FabricGuess fabric_guess(const std::string& fabric);
Seconds expected_time(const PlannedCollective& call);

/// Calls back to back in one batch, and batches of one round: long enough to be timed, short enough to stop in time.
struct CollectiveRound {
  int calls = 1, first = 1, next = 1;
};
inline CollectiveRound round_of(Seconds per_call, const MethodRules& rules) {
  CollectiveRound round;
  round.calls =
      static_cast<int>(std::clamp(rules.shortest_replay / per_call, 1.0, static_cast<double>(rules.most_calls)));
  const double room = rules.longest_work / (per_call * round.calls);
  const int least = std::max(1, rules.least_replays), fewest = std::min(std::max(1, rules.fewest_replays), least);
  round.first = static_cast<int>(std::clamp(room, static_cast<double>(fewest), static_cast<double>(least)));
  round.next = std::max(1, round.first / 2);
  return round;
}

/// The work takes at most what comes before (one call to warm up, two to learn how long it takes), the time by the stop
/// rule, and one round more, which was begun before that was over.
inline Seconds collective_work_time(Seconds per_call, const MethodRules& general) {
  const MethodRules rules = collective_rules(general);
  const CollectiveRound round = round_of(per_call, rules);
  const Seconds batch = per_call * round.calls;
  return per_call * 3 + std::max(rules.longest_work, batch * round.first) + batch * round.next;
}

}  // namespace stepcast::calibrate
