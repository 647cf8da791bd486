// A replica of a pool that reads prompts and says no words: priced once, for any number of replicas beside it.
#pragma once

#include <vector>

#include "sim/serving/steady/word_cycle.h"

namespace stepcast::sim {

/// What comes to the whole pool.
struct ArrivingPrompts {
  double per_second = 0;  ///< to one replica
  double replicas = 1;    ///< that a router spreads them over
  double others = 1;      ///< of the prompts that one meets, the share that is there: less than 1 where users are few
};

struct PromptReading {
  double together = 1;  ///< prompts that one replica reads at once
  double until = 0;     ///< seconds from when a prompt begins to wait until it is read
  double waits = 0;     ///< of them, those before its iteration
};

class PromptReader {
 public:
  /// `servers`: one replica of them. The timer must outlive it.
  PromptReader(const RequestMeans& means, const Servers& servers, const BatchTimer& timer);

  /// Prompts that one group takes in an iteration, below 1 where one takes several iterations.
  [[nodiscard]] double most() const { return most_; }
  /// A second, of the replica.
  [[nodiscard]] double most_per_second() const { return batches_.back().per_second(); }
  /// Of prompts that come by a Poisson law.
  [[nodiscard]] PromptReading reading(const ArrivingPrompts& come) const;
  /// Seconds for so many prompts of the replica that are read at once, or as many of them as there is room for.
  [[nodiscard]] double time(double prompts) const;
  [[nodiscard]] const Servers& servers() const { return servers_; }

 private:
  /// What the replica reads at once, and the seconds that it takes.
  struct Timed {
    double prompts = 1, time = 0;
    [[nodiscard]] double per_second() const { return prompts / time; }
  };
  [[nodiscard]] Timed batch_at(double per_second) const;

  Servers servers_;
  double most_ = 1;
  std::vector<Timed> batches_;  ///< from one prompt of each group to as many as there is room for
};

}  // namespace stepcast::sim
