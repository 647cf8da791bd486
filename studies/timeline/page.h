// What the timeline's page is put together from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/base/embedded.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline {

/// Every studies/timeline/page/*.{css,html,js}, by name; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_timeline();

/// uPlot's script, style sheet and licence, or nothing where they were not there at build time
/// (cmake/StepcastUplot.cmake).
std::span<const EmbeddedFile> embedded_uplot();

/// What the time of a rank goes into, over the whole step, in seconds; they sum to the step.
struct RankSums {
  double forward = 0, backward = 0;  ///< kernels, as Phases has them: recompute counts into backward
  double waiting = 0;                ///< kernels that wait for moves
  double held = 0;                   ///< by blocking sends between stages
  double bubble = 0;                 ///< between actions, and held by nothing
  double around = 0;                 ///< phases before and after the pipeline
};
std::vector<RankSums> rank_sums(const StepScene& scene);

/// For the script, of a scene whose actions are placed. A tick is a power of ten of which a step has ten to a hundred
/// million; actions and holds stand within a tick, what is inside of an action within a hundredth of one: {"title",
/// "tick": microseconds, "end", "begin": microseconds, "names": [], "streams": [[key, name]], "slices", "slowest",
///  "word": what a rank is called, "rank_of": [by virtual stage],
///  "around": [[name, key, is communication, start, end: microseconds]],
/// "ahead", "back": [by virtual stage: microseconds of what it hands on], "after", "before": [stage that takes it, or
/// -1],
///  "inside": [{"ticks": length, "runs": [[first layer, layers, step of the layer's number, start, period,
///                                         code, stream, name, gap, length of each span...]]}],
///  "which": [(stage x 4 + kind) x slices + slice: place in "inside", or -1], "actions": [by rank: tokens],
///  "kept", "always": [bytes], "capacity": bytes, "gpus": [ranks per stage, stride of stages]}
/// A span's code is kind + 3 x pass, its gap runs from the end of the span before it in the list, both in hundredths of
/// ticks. A token is an action, F, B, I or W, then the place of its stage among those of its rank where that is not 0,
/// "u" and by how much its unit is not the next of its kind and stage, "g" and the gap from the end of the token
/// before, "s" and what it takes beyond its inside; or a hold, "H" with "g", and "l" and its length where that is not
/// the one of the hold before. What is 0 is left out.
std::string timeline_data(const StepScene& scene);

/// Ranks as rows and actions as rectangles, as one picture that needs no script; where there are too many ranks it
/// shows some, and its caption says which.
struct TimelinePicture {
  std::string svg, caption;
};
TimelinePicture timeline_picture(const StepScene& scene);

}  // namespace stepcast::timeline
