// A run of requests against servers, iteration by iteration, in time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/pool.h"

namespace stepcast::sim {

/// What clients send. A closed loop keeps `concurrency` requests under way and sends the next as one ends; 0: an open
/// loop, by arrivals.
struct Load {
  std::vector<ServingRequest> requests;
  std::int64_t concurrency = 0;
};

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
struct ServedRun {
  std::vector<Served> requests;
  std::vector<Gap> gaps;
  std::vector<RanIteration> iterations;  ///< in the order of their ends
  std::int64_t preempted = 0;
  Swaps swaps;
};

/// What each request and each gap between words comes to, as words are heard. Those of running sequences come all at
/// once, and are counted together.
class Hearing {
 public:
  Hearing(ServedRun& run, std::size_t requests, std::size_t groups);
  void send(std::size_t id, const ServingRequest& request, Seconds now);
  /// A word of one request by itself.
  void word(ServerPool::Replica& replica, std::size_t id, Seconds now);
  void hear(const ServerPool::Place& place, const Batcher::Said& said, Seconds now);

 private:
  void gap(Seconds time, std::int64_t count, Seconds now);

  ServedRun* run_;
  std::vector<Seconds> spoke_;  ///< when the running sequences of each group last did
};

/// Every request must fit a group's cache by itself (Batcher::blocks_at_end).
ServedRun simulate(const Load& load, const Servers& servers, const BatchTimer& timer);

}  // namespace stepcast::sim
