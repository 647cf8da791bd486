// What each rank's step goes into: sums of the spans that the page draws.
#include <algorithm>

#include "studies/timeline/page.h"

namespace stepcast::timeline {
namespace {

struct InsideSums {
  double forward = 0, backward = 0, waiting = 0;
};

InsideSums sums_of_inside(const std::vector<SceneSpan>& spans) {
  InsideSums sums;
  for (const SceneSpan& span : spans) {
    const double time = span.end - span.start;
    if (span.kind == SpanKind::wait) sums.waiting += time;
    if (span.kind == SpanKind::kernel) (span.pass == Pass::forward ? sums.forward : sums.backward) += time;
  }
  return sums;
}

double held_of_rank(const StepScene& scene, int rank) {
  double held = 0;
  if (static_cast<std::size_t>(rank) < scene.holds.size())
    for (const HopHold& hold : scene.holds[rank]) held += hold.end - hold.start;
  return held;
}

}  // namespace

std::vector<RankSums> rank_sums(const StepScene& scene) {
  const Order& order = *scene.order;
  std::vector<InsideSums> inside;
  for (const auto& spans : scene.inside) inside.push_back(sums_of_inside(spans));
  double around = 0;
  for (const SceneStretch& stretch : scene.around) around += stretch.end - stretch.start;
  std::vector<RankSums> sums(static_cast<std::size_t>(order.ranks));
  for (int rank = 0; rank < order.ranks; ++rank) {
    RankSums& sum = sums[rank];
    double busy = 0;
    for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i) {
      const std::size_t index = scene.inside_index(static_cast<std::size_t>(i));
      const double time = scene.action_end[i] - scene.action_start[i];
      const double stretch = scene.inside_seconds[index] > 0 ? time / scene.inside_seconds[index] : 0;
      sum.forward += stretch * inside[index].forward;
      sum.backward += stretch * inside[index].backward;
      sum.waiting += stretch * inside[index].waiting;
      busy += time;
    }
    sum.around = around;
    sum.held = held_of_rank(scene, rank);
    sum.bubble = std::max(0.0, scene.timeline->makespan.value() - busy - sum.held);
  }
  return sums;
}

}  // namespace stepcast::timeline
