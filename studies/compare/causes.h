// What makes the gap, in order of seconds, each with its evidence and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/compare/clocks.h"
#include "studies/compare/traced/rank_pace.h"

namespace stepcast::comparison {

enum class CauseKind : std::uint8_t {
  slow_rank,
  low_clock,
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

/// `shown`: the position in `ranks` of the rank that the gap is of; `expected_mhz`: the clock of the other side, where
/// somebody recorded it. Differences below a thousandth of the step are no
/// causes.
std::vector<GapCause> causes_of(const Gap& gap, const TimeSplit& expected, const TimeSplit& measured,
    const std::vector<std::string>& measured_names, const std::vector<std::string>& expected_names,
    const std::vector<RankPace>& ranks, std::size_t shown, double expected_mhz = 0);

}  // namespace stepcast::comparison
