#include "studies/timeline/scene.h"

#include <set>

#include <gtest/gtest.h>

#include "studies/run/figures/phases.h"
#include "tests/studies/timeline/forecast_of.h"

namespace stepcast::timeline::scene_test {
namespace {

using timeline_testing::forecast_of;
using timeline_testing::forecasts;

TEST(StepScene, InsideOfActionsIsTiledAndAsLongAsTheAction) {
  for (const std::string& line : forecasts()) {
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    const StepScene& scene = made->scene;
    for (std::size_t i = 0; i < scene.order->actions.size(); ++i) {
      const std::size_t index = scene.inside_index(i);
      const double length = scene.action_end[i] - scene.action_start[i];
      ASSERT_NEAR(scene.inside_seconds[index], length, 1e-9 * length) << "no rank of a forecast is slow";
    }
    for (std::size_t index = 0; index < scene.inside.size(); ++index) {
      double at = 0;
      for (const SceneSpan& span : scene.inside[index]) {
        ASSERT_LT(span.start + 1e-10 * scene.inside_seconds[index], span.end)
            << "no dust of the other half of a backward pass";
        ASSERT_LE(span.end, scene.inside_seconds[index]);
        ASSERT_LT(span.name, static_cast<int>(scene.names.size()));
        ASSERT_GE(span.layer, -1);
        ASSERT_EQ(span.stream == StepScene::compute_stream, span.kind != SpanKind::move);
        if (span.kind == SpanKind::move) {
          ASSERT_GE(span.stream, StepScene::first_fabric_stream);
          ASSERT_LT(span.stream, scene.send_ahead_stream);
          continue;
        }
        ASSERT_EQ(span.start, at);
        at = span.end;
        if (span.waits_for < 0) continue;
        ASSERT_EQ(span.kind, SpanKind::wait);
        ASSERT_EQ(scene.inside[index].at(static_cast<std::size_t>(span.waits_for)).kind, SpanKind::move);
      }
      ASSERT_EQ(at, scene.inside_seconds[index]);
    }
  }
}

TEST(StepScene, SpansSumToThePhases) {
  for (const std::string& line : forecasts()) {
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    const StepScene& scene = made->scene;
    const Phases& phases = made->prediction.step.phases;
    double forward = 0, backward = 0, waits = 0;
    const int slowest = scene.slowest_stage;
    for (std::int32_t i = scene.order->begin[slowest]; i < scene.order->begin[slowest + 1]; ++i) {
      for (const SceneSpan& span : scene.inside[scene.inside_index(static_cast<std::size_t>(i))]) {
        if (span.kind == SpanKind::wait) waits += span.end - span.start;
        if (span.kind == SpanKind::kernel) (span.pass == Pass::forward ? forward : backward) += span.end - span.start;
      }
    }
    for (const HopHold& hold : scene.holds[slowest]) waits += hold.end - hold.start;
    EXPECT_NEAR(forward, phases.forward.value(), 1e-9 * scene.end);
    EXPECT_NEAR(backward, phases.backward.value(), 1e-9 * scene.end);
    EXPECT_NEAR(waits, phases.exposed_communication.value(), 1e-9 * scene.end);
    for (const PhaseRow& phase : phase_rows(phases)) {
      double length = 0;
      for (const SceneStretch& stretch : scene.around)
        if (stretch.key == phase.key) length += stretch.end - stretch.start;
      const bool own = phase.key == "forward" || phase.key == "backward" || phase.key == "bubble" ||
                       phase.key == "exposed_communication";
      EXPECT_NEAR(length, own ? 0 : phase.time.value(), 1e-12 * scene.end) << phase.key;
    }
    EXPECT_EQ(scene.around.back().end, made->prediction.step.step_time.value());
  }
}

TEST(StepScene, TwoCopiesDoTheSameInTheSameLayers) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --schedule dualpipe --global-batch 128");
  const StepScene& scene = made->scene;
  ASSERT_EQ(scene.order->stages(), 8);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(scene.order->rank_of[stage], 3 - scene.order->rank_of[stage + 4]);
    const auto& first = scene.inside[scene.inside_index(stage, ActionKind::forward, 0)];
    const auto& second = scene.inside[scene.inside_index(stage + 4, ActionKind::forward, 0)];
    ASSERT_EQ(first.size(), second.size());
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(first.back().name, second.back().name);
  }
}

TEST(StepScene, FusedPairsAreDrawnOneAfterTheOther) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --schedule dualpipe --global-batch 128");
  const StepScene& scene = made->scene;
  int pairs = 0;
  for (std::size_t i = 0; i + 1 < scene.order->actions.size(); ++i) {
    if (!scene.order->actions[i].with_next) continue;
    ++pairs;
    EXPECT_EQ(scene.action_end[i], scene.action_start[i + 1]);
    EXPECT_EQ(scene.action_start[i], scene.begin + scene.timeline->start[i].value());
    EXPECT_EQ(scene.action_end[i + 1], scene.begin + scene.timeline->end[i + 1].value());
  }
  EXPECT_GT(pairs, 0);
}

TEST(StepScene, LaterSlicesTakeLonger) {
  const auto made =
      forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --schedule seq-1f1b --seq-splits 4 --global-batch 64");
  for (int slice = 1; slice < 4; ++slice)
    EXPECT_GT(made->scene.inside_seconds[made->scene.inside_index(1, ActionKind::forward, slice)],
        made->scene.inside_seconds[made->scene.inside_index(1, ActionKind::forward, slice - 1)]);
}

TEST(StepScene, EveryLevelIsAStreamAndOneThatOverlapsTwo) {
  const auto plain = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --global-batch 64 --stack megatron-2022");
  std::set<std::string> keys;
  for (const SceneStream& stream : plain->scene.streams) EXPECT_TRUE(keys.insert(stream.key).second) << stream.key;
  for (const Level& level : plain->scenario.machine.row.levels) EXPECT_TRUE(keys.contains(level.name));
  for (const char* key : {"step", "pipeline", "compute", "send-ahead", "send-back", "host"})
    EXPECT_TRUE(keys.contains(key));
  EXPECT_EQ(keys.size(), 6 + plain->scenario.machine.row.levels.size());
  const auto shared = forecast_of("llama3-8b --gpus 64 --zero 3 --tp 16 --global-batch 16 --stack pytorch-fsdp");
  EXPECT_EQ(shared->scene.streams.size(), keys.size() + 1)
      << "tensors and weights cross the same nodes, only the former block";
  EXPECT_EQ(shared->scene.streams[5].key, shared->scenario.machine.row.levels[1].name + "-beside");
  EXPECT_EQ(plain->scene.streams[plain->scene.host_stream].key, "host");
  EXPECT_EQ(plain->scene.streams[plain->scene.send_back_stream].key, "send-back");
}

TEST(StepScene, GradientsShowOnTheirFabric) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --global-batch 64");
  bool shown = false;
  for (const SceneStretch& stretch : made->scene.around) {
    if (stretch.key != "gradient_sync") continue;
    shown = true;
    ASSERT_GE(stretch.stream, StepScene::first_fabric_stream);
    EXPECT_EQ(made->scene.streams[stretch.stream].key, made->scenario.machine.row.levels[1].name)
        << "8 GPUs 8 ranks apart";
  }
  EXPECT_TRUE(shown);
}

}  // namespace
}  // namespace stepcast::timeline::scene_test
