// A scene that can be redone by hand: two ranks, two micro-batches, 1F1B. Forward takes 1 s, backward 2 s, a hop
// nothing:
//   rank 0: F0 0..1, F1 1..2, B0 4..6, B1 7..9
//   rank 1: F0 1..2, B0 2..4, F1 4..5, B1 5..7
// The pipeline begins at 1 s, the step ends at 12 s. Inside of a forward: 0.75 s kernel, 0.25 s wait, a move beside it;
// of a backward two layers of 1 s.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline::timeline_testing {

struct HandScene {
  Order order;
  Timeline timeline;
  StepScene scene;
};

inline std::unique_ptr<HandScene> hand_scene(
    int micro_batches = 2, int ranks = 2, const std::string& name = "up & <down>") {
  auto made = std::make_unique<HandScene>();
  made->order = make_order("1f1b", {.ranks = ranks, .micro_batches = micro_batches}).value();
  const auto each = [&](double seconds) {
    return std::vector<Seconds>(static_cast<std::size_t>(ranks), Seconds(seconds));
  };
  StageTimes times;
  times.forward = times.input_grad = times.weight_grad = each(1);
  made->timeline = sim::run(made->order, times).value();
  StepScene& scene = made->scene;
  scene.title = "Two & <three>";
  scene.names = {name, "wait for gather", "gather", "down"};
  scene.streams = {{"step", "step"}, {"pipeline", "pipeline"}, {"compute", "compute"}, {"node", "node: switch"}};
  scene.order = &made->order;
  scene.timeline = &made->timeline;
  const std::vector<SceneSpan> forward = {
      {.kind = SpanKind::kernel, .stream = 2, .name = 0, .pass = Pass::forward, .layer = 0, .start = 0, .end = 0.75},
      {.kind = SpanKind::wait, .stream = 2, .name = 1, .pass = Pass::forward, .layer = 0, .start = 0.75, .end = 1},
      {.kind = SpanKind::move, .stream = 3, .name = 2, .pass = Pass::forward, .layer = 0, .start = 0.5, .end = 1}};
  const std::vector<SceneSpan> backward = {
      {.kind = SpanKind::kernel, .stream = 2, .name = 3, .pass = Pass::input_grad, .layer = 1, .start = 0, .end = 1},
      {.kind = SpanKind::kernel, .stream = 2, .name = 3, .pass = Pass::input_grad, .layer = 0, .start = 1, .end = 2}};
  for (int rank = 0; rank < ranks; ++rank) {
    scene.inside.insert(scene.inside.end(), {forward, backward, {}, {}});
    scene.inside_seconds.insert(scene.inside_seconds.end(), {1, 2, 0, 0});
  }
  scene.begin = 1;
  scene.end = scene.begin + made->timeline.makespan.value() + 2;
  scene.hop_ahead = scene.hop_back = std::vector<double>(static_cast<std::size_t>(ranks), 0.0);
  scene.around = {{"data wait", "data_wait", false, 0, 1}, {"optimizer", "optimizer", false, scene.end - 2, scene.end}};
  scene.kept = std::vector<double>(static_cast<std::size_t>(ranks), 100);
  scene.always = std::vector<double>(static_cast<std::size_t>(ranks), 1000);
  scene.always[0] = 2000;
  scene.capacity = 4000;
  scene.slowest_stage = ranks - 1;
  scene.place_actions();
  return made;
}

}  // namespace stepcast::timeline::timeline_testing
