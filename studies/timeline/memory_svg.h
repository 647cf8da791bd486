// Memory over time: what lasts the whole step on a rank (weights, gradients, optimizer) and what its micro-batches in
// flight keep for backward. Temporary buffers and the framework's own are not in it, for they belong to no moment that
// the scene knows.
#pragma once

#include <string>
#include <vector>

#include "studies/print/page/svg_text.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline {

/// What people call a pipeline rank: by the scene's word, but "rank" where it has several stages.
std::string rank_word_of(const StepScene& scene);

struct MemoryStep {
  double time = 0, bytes = 0;
};  ///< from `time` (seconds in the step) on

/// The steps begin with the step; a forward takes at its start, a whole backward or the weight gradient frees at its
/// end. At one moment what is freed comes first only where the rank's order has it so.
std::vector<MemoryStep> memory_steps(const StepScene& scene, int rank);

/// The ranks that a picture has room for, in rising order: the fullest, the first, the last, others evenly between.
std::vector<int> memory_ranks(const StepScene& scene);

/// Curves of memory_ranks() and the capacity, as an SVG that follows light and dark. Each curve is a <path class="curve
/// mN" data-rank="R" data-peak-bytes="B">, N counting from 0 to 6; classes and colours are in memory_svg_style().
std::string memory_svg(const StepScene& scene, Sheet sheet = Sheet::wide);
const char* memory_svg_style();

/// "7 of 64 ranks ..." in words for a caption.
std::string memory_caption(const StepScene& scene);

}  // namespace stepcast::timeline
