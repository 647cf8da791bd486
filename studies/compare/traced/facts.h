// What a GPU did in a stretch of time: sums and unions of its events. Seconds. span = idle + busy, busy is the union of
// all kernels, copies and fills, exposed communication the time in which something communicates and nothing computes.
#pragma once

#include <array>
#include <map>
#include <string>

#include "calibrate/trace/rank_trace.h"
#include "studies/compare/traced/steps.h"

namespace stepcast::comparison {

struct KindSum {
  std::size_t calls = 0;
  double seconds = 0;  ///< durations, not their union
};

/// One kind of collective in one group.
struct CollectiveSum {
  std::string kind;
  std::int64_t group = 0;  ///< 0: not recorded
  std::size_t calls = 0;
  double seconds = 0, shortest = 0, longest = 0;
  double bytes = 0;  ///< of all calls; 0: not recorded
};

struct TraceFacts {
  std::size_t events = 0;
  double span = 0, busy = 0, idle = 0, compute = 0, communication = 0, exposed = 0, copies = 0;
  std::array<KindSum, work_kinds> kinds;
  std::vector<CollectiveSum> collectives;  ///< the longest first
  /// Idle time by what came next: launched after the GPU had run dry, launched before, or not known when.
  double host_late = 0, queued = 0, unknown = 0;
  std::map<std::string, KindSum> unplaced;  ///< kernels that no row of names knows

  [[nodiscard]] KindSum sum_of(bool (*which)(WorkKind)) const;
  /// Of all kernels' time.
  [[nodiscard]] double unplaced_share() const;
};

/// Kernels without a launch belong to what ran before the recording; `by_start` counts them where they start.
enum class WithoutLaunch : std::uint8_t { before, by_start };

/// Of the events of a step, or of all of them (-1).
TraceFacts facts_of(
    const RankTrace& trace, const FoundSteps& steps, int step, WithoutLaunch without = WithoutLaunch::before);

}  // namespace stepcast::comparison
