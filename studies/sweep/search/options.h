// Holds what a sweep is told beside its space, and what it counts beside its result.
#pragma once

#include <cstdint>
#include <functional>

#include "model/base/error.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

/// What differs from run to run of the same work.
struct SweepWork {
  std::uint64_t priced = 0;         ///< points that fit, by the fast price or the whole forecast
  std::uint64_t pruned = 0;         ///< of them, dismissed by their bound
  std::uint64_t refined = 0;        ///< of them, run by the event engine
  std::uint64_t excluded_late = 0;  ///< refined, then dismissed by the constraint
  std::uint64_t lowered = 0;        ///< programs made for the fast prices
  double largest_gap = 0;           ///< largest (forecast - fast) / forecast among the refined
  std::uint64_t above = 0;          ///< refined whose bound lay above the forecast: a defect, the list may lack a point
  double seconds = 0;
  void add(const SweepWork& other);
};

struct SweepOptions {
  int threads = 1;
  bool exhaustive = false;                  ///< every point that fits is forecast by the event engine
  const SweepQuestion* question = nullptr;  ///< where it is known; null: it is put together
  std::function<bool()> stop;               ///< asked between points; true ends the sweep early, whole
  double snapshot_s = 2;
  /// Told between snapshots and at the end: what is done and how it goes. An error ends the sweep.
  std::function<Expected<void>(const SweepResult& so_far, const SweepWork& work)> snapshot;
};

}  // namespace stepcast::sweep
