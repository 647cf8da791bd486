// Says what a sweep's list means: which rows are tied, why the first one wins, and what stands in the way where none is
// left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "studies/sweep/price/points.h"
#include "studies/sweep/result/result.h"
#include "studies/sweep/search/ties.h"

namespace stepcast::sweep {

/// Figures that add up to the step time, in the order in which they happen.
std::span<const Figure> phase_figures();

/// What the winner is held against.
struct Rival {
  SweepRow row;
  std::size_t rank = 0;     ///< in the list, from 1; 0: not from the list
  bool other_split = true;  ///< differs from the winner in tp, cp, pp, dp or ep
};

/// Rows of the list with the first one's GPU count, best first, and which of them are tied.
struct TiedRows {
  std::vector<std::size_t> rows;  ///< places in the list
  std::vector<double> costs;      ///< of those rows: the objective, less is better
  Ties ties;                      ///< places in `rows`
};

struct SweepVerdict {
  std::optional<TiedRows> tied;  ///< none: the objective does not follow the step time, or there is no row
  std::optional<Rival> runner_up, naive;
  bool naive_wins = false;     ///< the rule of thumb's choice is the winner itself
  bool naive_in_vain = false;  ///< the rule of thumb finds nothing that fits
};

/// `listed_all`: the list holds every configuration that was priced. Of an empty list: nothing.
SweepVerdict verdict_of(SpacePoints& points, const SweepResult& result, bool listed_all);

/// Winner less rival, largest gain first (negative: the winner takes less).
struct PhaseGap {
  Figure figure;
  double seconds = 0;
};
std::vector<PhaseGap> phase_gaps(const Figures& winner, const Figures& rival);

/// The rule of thumb of Narayanan et al. 2021 (arXiv 2104.04473), takeaways 1 to 3, among the values of the space:
/// tensor parallelism up to the GPUs of a node, then the fewest pipeline stages that fit, micro-batches of one
/// sequence, no interleaving, and recomputation only where nothing fits without. Experts and context are split as
/// little as fits. The rule of thumb for the GPU count with this digit; none: nothing fits.
std::optional<Digits> rule_of_thumb(SpacePoints& points, std::uint16_t gpus_digit);

/// The nearest miss in memory.
struct Overflow {
  std::uint64_t index = 0;
  double bytes = 0;
  std::string largest;  ///< "optimizer 41.2 GiB of 83.1 GiB"
  std::string advice;   ///< what makes that smaller
};
/// The result must have something that does not fit.
Expected<Overflow> overflow_of(SpacePoints& points, const SweepResult& result);

/// What the most frequent reason says of the first configuration that breaks it, with the nearest values that work; ""
/// where it is no rule of the split.
std::string broken_rule_text(SpacePoints& points, const SweepTally& tally);

}  // namespace stepcast::sweep
