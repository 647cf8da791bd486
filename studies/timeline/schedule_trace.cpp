// A schedule's run as a trace: the pipeline alone, activations counted one by one.
#include "studies/timeline/schedule_report.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline {

std::string schedule_trace(const PipelineRun& run) {
  const auto stages = static_cast<std::size_t>(run.order.stages());
  StepScene scene;
  scene.title = run.name + ": " + schedule_size_text(run);
  scene.streams = {{"step", "step"}, {"pipeline", "pipeline"}, {"compute", "compute"}, {"send-ahead", "send ahead"},
      {"send-back", "send back"}};
  scene.send_ahead_stream = StepScene::first_fabric_stream;
  scene.send_back_stream = scene.send_ahead_stream + 1;
  scene.order = &run.order;
  scene.timeline = &run.timeline;
  scene.place_actions();
  scene.hop_ahead = scene.hop_back = std::vector<double>(stages, run.hop);
  scene.holds = hop_holds(run.order, run.times, run.timeline);
  scene.kept = std::vector<double>(stages, 1.0);
  scene.rank_word = "rank";
  scene.counter = "activations";
  scene.counted = "held";
  scene.microseconds = run.in_seconds ? 1e6 : 1;
  return scene_trace(scene, {TraceDetail::actions, false});
}

}  // namespace stepcast::timeline
