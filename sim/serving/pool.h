// Replicas of an engine in time, beside each other behind a router: each runs iteration after iteration, and the groups
// of a replica run theirs together.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "sim/serving/batching.h"

namespace stepcast::sim {

inline constexpr Seconds never{std::numeric_limits<double>::infinity()};

/// Replicas serve by themselves, behind a router that picks the one with the fewest requests. The groups of a replica
/// have caches of their own and run their iterations together: the slowest counts.
///
/// Where the layers of a replica stand on several stages, as many iterations are under way: each goes through stage
/// after stage, of which each takes a part of its time and one iteration at once. The sequences and the cache are dealt
/// out to as many lanes, each with one iteration after the other; `policy` is of a lane.
struct Servers {
  BatchingPolicy policy;
  std::int64_t replicas = 1, groups = 1, stages = 1;
  Seconds before = {};             ///< from a request's sending until it waits for an iteration
  std::vector<double> parts = {};  ///< of an iteration's time that each stage takes; empty: as much each
};

/// As many replicas as so many users can reach: a router sends each request to the first with the fewest, so that one
/// of the first `users` groups is always empty. What runs is the same with more of them.
Servers reached(Servers servers, std::int64_t users);

/// A share of what one engine's policy gives to all lanes together.
BatchingPolicy lane_policy(BatchingPolicy policy, std::int64_t stages);

/// How long an iteration takes that holds this.
using BatchTimer = std::function<Seconds(const Batch&)>;

struct RanIteration {
  std::int64_t replica = 0;
  Seconds start, time;                                     ///< on several stages with what it waits for others there
  Batch batch;                                             ///< of the group that took longest
  std::int64_t words = 0;                                  ///< that were said in it
  std::int64_t running = 0, waiting = 0, used_blocks = 0;  ///< of all groups, while it ran
  /// sum of 1 / (output - 1) over the requests between their first word and their last: what a second of this iteration
  /// adds to the sum of all requests' times per word
  double pace = 0;
  std::int64_t speaking = 0;  ///< requests between their first word and their last
};

class ServerPool {
 public:
  /// Or a lane of one.
  struct Replica {
    std::vector<Batcher> groups;
    Seconds ends = never;
    RanIteration runs;
    // Of requests between their first word and their last; who hears the words keeps them.
    double pace = 0;
    std::int64_t speaking = 0;
  };

  ServerPool(const Servers& servers, const BatchTimer& timer);

  /// Of the replica and group with the fewest requests.
  struct Place {
    Replica* replica = nullptr;
    Batcher* group = nullptr;
    std::size_t index = 0;  ///< of the group in the pool
  };
  Place least();
  [[nodiscard]] Seconds next_end() const;
  /// Ends the iterations that end now, and tells what each group said.
  using Heard = std::function<void(const Place&, const Batcher::Said&)>;
  void end_iterations(Seconds now, const Heard& heard, std::vector<RanIteration>& ran);
  /// Starts an iteration in each replica that runs none. `planned`: told of each group behind its plan, before the
  /// iteration starts, and whether the group has a part in it.
  using Planned = std::function<void(const Place&, bool)>;
  void start_iterations(Seconds now, const Planned& planned = {});
  [[nodiscard]] std::int64_t preempted() const;
  [[nodiscard]] Swaps swaps() const;  ///< of all groups; the most at once of one of them
  [[nodiscard]] std::size_t groups() const { return replicas_.size() * replicas_.front().groups.size(); }

 private:
  void start(Replica& replica, Seconds now, const Planned& planned);
  bool plan(Replica& replica, const Planned& planned);
  [[nodiscard]] Place place(Replica& replica, std::size_t group);

  Seconds end_of(std::size_t replica, Seconds now, Seconds time);

  const BatchTimer& timer_;
  std::size_t stages_;
  std::vector<double> parts_;
  std::vector<Replica> replicas_;  ///< lane after lane of each
  std::vector<Seconds> free_;      ///< when each stage of each replica is, in the same order
};

}  // namespace stepcast::sim
