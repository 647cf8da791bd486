// A run of requests against servers, iteration by iteration, in time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/serving/batching.h"

namespace stepcast::sim {

/// What clients send. A closed loop keeps `concurrency` requests under way and sends the next as one ends; 0: an open
/// loop, by arrivals.
struct Load {
  std::vector<ServingRequest> requests;
  std::int64_t concurrency = 0;
};

/// Replicas serve by themselves, behind a router that picks the one with the fewest requests. The groups of a replica
/// have caches of their own and run their iterations together: the slowest counts.
struct Servers {
  BatchingPolicy policy;
  std::int64_t replicas = 1, groups = 1;
  Seconds before = {};  ///< from a request's sending until it waits for an iteration
};

/// How long an iteration takes that holds this.
using BatchTimer = std::function<Seconds(const Batch&)>;

/// Of one request.
struct Served {
  Seconds sent, first, last;  ///< words
  std::int64_t prompt = 0, output = 0;
};
/// Times between one word and the next of a request; so many alike.
struct Gap {
  Seconds time;
  std::int64_t count = 0;
  Seconds at;  ///< the end of the first of them
};
struct RanIteration {
  std::int64_t replica = 0;
  Seconds start, time;
  Batch batch;                                             ///< of the group that took longest
  std::int64_t words = 0;                                  ///< that were said in it
  std::int64_t running = 0, waiting = 0, used_blocks = 0;  ///< of all groups, while it ran
  /// sum of 1 / (output - 1) over the requests between their first word and their last: what a second of this iteration
  /// adds to the sum of all requests' times per word
  double pace = 0;
  std::int64_t speaking = 0;  ///< requests between their first word and their last
};

struct ServedRun {
  std::vector<Served> requests;
  std::vector<Gap> gaps;
  std::vector<RanIteration> iterations;  ///< in the order of their ends
  std::int64_t preempted = 0;
};

/// Every request must fit a group's cache by itself (Batcher::blocks_at_end).
ServedRun simulate(const Load& load, const Servers& servers, const BatchTimer& timer);

}  // namespace stepcast::sim
