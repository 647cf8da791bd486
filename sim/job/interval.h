// How far apart checkpoints should lie: four laws of one question. M is the mean time between failures, d the time that
// steps stand still for a checkpoint, R what a failure costs beside the work it undoes.
#pragma once

#include <span>
#include <string_view>

#include "sim/job/goodput.h"

namespace stepcast::sim {

struct IntervalLaw {
  std::string_view id, name, formula, source;
  /// Whether M, d (and R) are where the law holds.
  bool (*holds)(Seconds between_failures, Seconds save, Seconds restart);
  Seconds (*interval)(Seconds between_failures, Seconds save, Seconds restart);
};

///   young         sqrt(2 d M)                    Young 1974, doi 10.1145/361147.361115
///   daly          sqrt(2 d M)(1 + x/3 + x^2/9) - d, x = sqrt(d / 2M), for d < 2M
///                                                Daly 2006, doi 10.1016/j.future.2004.11.016, eq. 37
///   exact         M (1 + W0(-e^(-1 - d/M)))      the maximum of the exact law; W0 is Lambert's
///   availability  d + sqrt(2 (M + R) d + d^2)    arXiv 2410.18124
std::span<const IntervalLaw> interval_laws();

/// The interval of the highest goodput of saves that all are stored. d > 0.
Seconds exact_interval(Seconds between_failures, Seconds save);

/// Stored saves for every so many saves of `saves.interval`, 1 to `most`: of the highest goodput.
std::int64_t best_per_stored(const FailureCosts& failures, Saves saves, std::int64_t most);

}  // namespace stepcast::sim
