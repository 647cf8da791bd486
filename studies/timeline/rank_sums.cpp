// What each rank's step goes into: sums of the spans that the page draws.
#include <algorithm>

#include "studies/timeline/page.h"

namespace stepcast {
namespace {

struct InsideSums { double forward = 0, backward = 0, waiting = 0; };

InsideSums sums_of_inside(const std::vector<SceneSpan>& spans) {
  InsideSums sums;
  for (const SceneSpan& span : spans) {
    const double time = span.end - span.start;
    if (span.kind == SpanKind::wait) sums.waiting += time;
    if (span.kind == SpanKind::kernel) (span.pass == Pass::forward ? sums.forward : sums.backward) += time;
  }
  return sums;
}

std::size_t inside_of_action(const StepScene& scene, const Action& action) {
  return scene.inside_index(action.stage, action.kind, action.micro_batch % scene.order->slices);
}

}  // namespace

std::vector<double> action_seconds(const StepScene& scene) {
  const Order& order = *scene.order;
  std::vector<double> seconds(order.actions.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double time = (scene.timeline->end[i] - scene.timeline->start[i]).value();
    seconds[i] = time;
    if (!order.actions[i].with_next) continue;
    const double first = scene.inside_seconds[inside_of_action(scene, order.actions[i])];
    const double both = first + scene.inside_seconds[inside_of_action(scene, order.actions[i + 1])];
    seconds[i] = both > 0 ? time * first / both : time / 2;
    seconds[i + 1] = time - seconds[i];
    ++i;
  }
  return seconds;
}

std::vector<RankSums> rank_sums(const StepScene& scene) {
  const Order& order = *scene.order;
  std::vector<InsideSums> inside;
  for (const auto& spans : scene.inside) inside.push_back(sums_of_inside(spans));
  const std::vector<double> seconds = action_seconds(scene);
  double around = 0;
  for (const SceneStretch& stretch : scene.around) around += stretch.end - stretch.start;
  std::vector<RankSums> sums(static_cast<std::size_t>(order.ranks));
  for (int rank = 0; rank < order.ranks; ++rank) {
    RankSums& sum = sums[rank];
    double busy = 0;
    for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i) {
      const std::size_t index = inside_of_action(scene, order.actions[i]);
      const double stretch = scene.inside_seconds[index] > 0 ? seconds[i] / scene.inside_seconds[index] : 0;
      sum.forward += stretch * inside[index].forward;
      sum.backward += stretch * inside[index].backward;
      sum.waiting += stretch * inside[index].waiting;
      busy += seconds[i];
    }
    sum.around = around;
    sum.idle = std::max(0.0, scene.timeline->makespan.value() - busy);
    if (!scene.timeline->hop_wait.empty()) sum.held = scene.timeline->hop_wait[rank].value();
  }
  return sums;
}

}  // namespace stepcast
