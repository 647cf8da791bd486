// What makes the gap, in order of seconds, each with its evidence and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/compare/gap.h"

namespace stepcast::comparison {

enum class CauseKind : std::uint8_t {
  slow_rank,
  more_work,
  slow_link,
  lost_overlap,
  slow_kernels,
  host_gaps,
  waiting,
  copies,
  unplaced
};
/// "slower kernels", or "faster kernels" where they make the step shorter.
std::string_view to_text(CauseKind kind, double seconds);

struct GapCause {
  CauseKind kind = CauseKind::slow_kernels;
  std::string subject;  ///< "rank 3", "all_gather", "matrix products"
  double seconds = 0;   ///< of the gap; below zero: it makes the step shorter
  std::string evidence, lever;
  bool outside = true;  ///< of what the forecast's interval allows, or none is known
};

/// How a rank's kernels run beside what is expected of them: durations over durations. 1: as expected.
struct RankPace {
  std::string rank;
  double pace = 1;
};

/// A rank whose kernels take more than this longer than those of the median of the others is slow: equal GPUs differ by
/// 1.35 % (Sinha et al., SC 2022).
inline constexpr double slow_rank_factor = 1.03;

/// `shown`: the position in `ranks` of the rank that the gap is of. Differences below a thousandth of the step are no
/// causes.
std::vector<GapCause> causes_of(const Gap& gap, const TimeSplit& expected, const TimeSplit& measured,
    const std::vector<std::string>& measured_names, const std::vector<std::string>& expected_names,
    const std::vector<RankPace>& ranks, std::size_t shown);

/// The rank that is slow, if one is.
std::optional<std::size_t> slow_rank_of(const std::vector<RankPace>& ranks);

}  // namespace stepcast::comparison
