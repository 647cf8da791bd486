// What the timeline's page is put together from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/embedded.h"
#include "studies/timeline/scene.h"

namespace stepcast {

/// Every studies/timeline/page/*.{css,html,js}, by name; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_timeline();

/// uPlot's script, style sheet and licence, or nothing where they were not there at build time (cmake/StepcastUplot.cmake).
std::span<const EmbeddedFile> embedded_uplot();

/// What the time of a rank goes into, over the whole step, in seconds; they sum to the step.
struct RankSums {
  double forward = 0, backward = 0;  ///< kernels, as Phases has them: recompute counts into backward
  double waiting = 0;                ///< kernels that wait for moves
  double idle = 0;                   ///< between actions: the bubble, and what blocking sends hold
  double held = 0;                   ///< of `idle`: by blocking sends
  double around = 0;                 ///< phases before and after the pipeline
};
std::vector<RankSums> rank_sums(const StepScene& scene);

/// The two actions of a fused pair run at once: each takes the share of the time that it would have alone.
/// By position in Order::actions, seconds.
std::vector<double> action_seconds(const StepScene& scene);

/// For the script; times are whole numbers of ticks, a tick is at most a millionth of the step, and those inside of an action of
/// hundredths of ticks:
/// {"title", "tick": microseconds, "end", "begin": microseconds, "names": [], "streams": [[key, name]], "slices", "slowest", "blocking",
///  "rank_of": [by virtual stage], "around": [[name, key, is communication, start, end: microseconds]],
///  "ahead", "back": [by virtual stage: microseconds to the next, -1 = hands on to nobody],
///  "after", "before": [stage that takes the result, or -1], "held": [by rank: microseconds held by sends],
///  "inside": [{"ticks": length, "runs": [[first layer, layers, step of the layer's number, start, period, [code, stream, name, gap, length]...]]}],
///  "which": [(stage x 4 + kind) x slices + slice: place in "inside", or -1],
///  "actions": [by rank: [code, unit, gap, surplus]...], "kept", "always": [bytes], "capacity": bytes,
///  "gpus": [ranks per stage, stride of stages]}
/// A span's code is kind + 3 x pass, its gap runs from the end of the span before it in the list; an action's code is
/// kind + 4 x (second of a pair) + 8 x (place of its stage among those of its rank), its gap runs from the end of the action
/// before it, its surplus is what it takes beyond its inside.
std::string timeline_data(const StepScene& scene);

/// Ranks as rows and actions as rectangles, as one picture that needs no script; where there are too many ranks it shows some,
/// and its caption says which.
struct TimelinePicture { std::string svg, caption; };
TimelinePicture timeline_picture(const StepScene& scene);

}  // namespace stepcast
