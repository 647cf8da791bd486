// What one group's cache holds of requests that a mean field knows.
#pragma once

#include "sim/serving/batching.h"
#include "sim/serving/steady/request_means.h"

namespace stepcast::sim {

class CacheRoom {
 public:
  /// Deviations of what sequences hold that must have room.
  static constexpr double far_out = 3;

  CacheRoom(const RequestMeans& means, const BatchingPolicy& policy) : means_(means), policy_(policy) {}

  /// Of one sequence with so many positions, without those of a shared prefix.
  [[nodiscard]] double blocks_of(double positions) const;
  /// In the mean, of a sequence that is let in and speaks.
  [[nodiscard]] double held_blocks() const;
  /// Sequences that a group runs at once.
  [[nodiscard]] double most_running() const;
  /// Of the blocks, the share that so many sequences hold, with the head that they share.
  [[nodiscard]] double used_share(double running) const;
  /// The same of sequences that hold so many blocks each.
  [[nodiscard]] double used_share(double running, double each) const;
  /// Whether what the sequences hold comes to more than there is, now and then. `cohorts`: all end together.
  [[nodiscard]] bool may_preempt(double running, bool cohorts) const;
  /// The longest request is longer than the cache.
  [[nodiscard]] bool never_fits() const;

 private:
  RequestMeans means_;
  BatchingPolicy policy_;
};

}  // namespace stepcast::sim
