// Says of repeated runs whether they are slower than they may be, equal, or undecided, with stated error rates.
//
//   slower     the shift lies above what is allowed with confidence 1 - false alarms
//   faster     it lies below what is expected with the same confidence; no reason to fail
//   equal      it lies below what is allowed plus `find` with confidence 1 - missed
//   undecided  neither: so many runs more are needed
//
// A shift of no more than what is allowed is called slower with a probability of at most `false_alarms`, and one of
// `find` beyond it equal with at most `missed`, whatever the noise (studies/gate/statistics.h), for one look at the
// runs. Who looks again after more runs says so by `looks`: each then has its part of both rates (Bonferroni).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "studies/gate/statistics.h"

namespace stepcast::gate {

struct GateRates {
  double false_alarms = 0.01, missed = 0.05;
  double find = 0.025;  ///< the slow-down beyond what is allowed that must not be called equal, as a fraction
  int looks = 1;
  [[nodiscard]] double alarm() const { return false_alarms / looks; }
  [[nodiscard]] double miss() const { return missed / looks; }
};

enum class Finding : std::uint8_t { slower, faster, equal, undecided };
std::string_view to_text(Finding finding);

/// What the shift may be, as logarithms of measured over expected time.
struct Allowed {
  double most = 0;              ///< slower above it
  std::optional<double> least;  ///< faster below it; none: nothing is too fast
};

/// How many runs decide. `before`: of the other side, where it too has too few; 0 = it has enough, or is a number.
struct RunsNeeded {
  std::size_t now = 0, before = 0;
};

struct Judgement {
  Finding finding = Finding::undecided;
  ShiftBounds bounds;
  double noise = 0;   ///< standard deviation of one run, robust, as a fraction
  RunsNeeded needed;  ///< in all, not beyond those that are there; where undecided
};

/// `now` against `before`, or against the number behind the shift where `before` is empty. `now` may be empty.
Judgement judge(
    const std::vector<double>& before, const std::vector<double>& now, const Allowed& allowed, const GateRates& rates);

/// How many runs find a slow-down of `find` with probability 1 - missed, and call none equal with the same, at this
/// noise. `before`: runs of the other side that are there; none: it is a number.
RunsNeeded runs_needed(double noise, std::optional<std::size_t> before, const GateRates& rates);

}  // namespace stepcast::gate
