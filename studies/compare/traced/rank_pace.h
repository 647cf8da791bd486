// How a rank's kernels run beside what is expected of them, and which rank is slow: all that it computes (a bad GPU),
// or what its cores bound alone (lower clocks, which memory does not see).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

/// Durations over durations; 1: as expected.
struct RankPace {
  std::string rank;
  double pace = 1;                  ///< the least of all kinds of work: a slow GPU is slow in all that it computes
  double products = 1, memory = 1;  ///< of products and attention; of memory-bound kernels
  double clock_mhz = 0;             ///< recorded; 0: nobody did
};

/// Durations of a kind's kernels: such sums tell networks apart. Seconds.
double work_of(const TimeSplit& split, WorkKind kind);

/// Whose a kernel's time is: that of the GPU's cores, and its clock, or its memory's. The optimizer's stands by itself:
/// it runs once in a step, fused or not as the library likes.
enum class BoundBy : std::uint8_t { none, cores, memory, optimizer, unplaced };
constexpr BoundBy bound_by(WorkKind kind) {
  if (is_product(kind) || kind == WorkKind::attention) return BoundBy::cores;
  if (kind == WorkKind::optimizer) return BoundBy::optimizer;
  if (kind == WorkKind::unplaced) return BoundBy::unplaced;
  return is_memory_bound(kind) ? BoundBy::memory : BoundBy::none;
}
constexpr bool is_bound_by_cores(WorkKind kind) { return bound_by(kind) == BoundBy::cores; }

RankPace pace_of(const std::string& rank, const TimeSplit& expected, const TimeSplit& measured);

/// A rank whose kernels take more than this longer than those of the median of the others is slow: equal GPUs differ by
/// 1.35 % (Sinha et al., SC 2022).
inline constexpr double slow_rank_factor = 1.03;

enum class RankFault : std::uint8_t { slow, low_clock };
struct FaultyRank {
  std::size_t at = 0;
  RankFault fault = RankFault::slow;
  double own = 1, others = 1;  ///< what takes longer: here, and in the median of the others
};
/// The rank that takes longest, if one does: of all that it computes, or, where its memory-bound kernels have less than
/// a third of what its products exceed the others by, of its clock.
std::optional<FaultyRank> faulty_rank_of(const std::vector<RankPace>& ranks);

}  // namespace stepcast::comparison
