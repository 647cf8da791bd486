// Deals work over ranks of unlike speed: layers over the stages of a pipeline, micro-batches over pipelines beside each
// other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/layers/partition.h"

namespace stepcast::sim {

/// What a step with so many layers on each stage takes.
struct DealtStep {
  double time = 0;             ///< seconds
  std::vector<double> over{};  ///< bytes of each stage beyond its memory, below 0 those free; empty: memory is no limit
  [[nodiscard]] double lacking() const;  ///< bytes beyond the memory, of all stages; 0 = it fits
};
using StepOfLayers = std::function<Expected<DealtStep>(const std::vector<int>& layers)>;

/// A pipeline of m micro-batches takes about the sum of its stages and m-1 times the slowest: the splits of
/// split_front() are timed by `step`, then from the best few layers go from stage to stage for as long as that helps.
/// What fits is better than what does not, and of two that do not fit the one that lacks less. Where a split of the
/// front does not fit, layers also start from the even split, and first leave the stages that lack memory. Some 500
/// steps are timed at most, and as many for each start that has to be made to fit. Errors: those of split_front() and
/// of `step`.
Expected<std::vector<int>> deal_layers(const UnlikeStages& stages, const StepOfLayers& step);

/// Pipelines of one kind, each of which takes `fixed` + `each` x its micro-batches.
struct UnlikePipelines {
  std::int64_t count = 1;
  double fixed = 0, each = 1;  ///< each > 0
};

/// The most micro-batches that a pipeline of each kind runs, at least 1, so that the slowest ends as early as can be.
/// Exact. Together they have room for `micro_batches`; where it is more, some of the last kind that got one run one
/// fewer.
std::vector<std::int64_t> deal_micro_batches(const std::vector<UnlikePipelines>& kinds, std::int64_t micro_batches);

}  // namespace stepcast::sim
