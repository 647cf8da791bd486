// One step laid out for eyes: what every stream of every rank does when. A trace writes it event by event, a page draws it.
// Pipeline ranks are alike inside a stage, so a scene has one rank per stage; a trace may repeat them for all GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/forecast.h"
#include "studies/scenario.h"

namespace stepcast {

enum class SpanKind : std::uint8_t { kernel, wait, move };

/// A piece of an action on one stream, in seconds from the action's start. Kernels and waits of an action tile it without gaps, so that
/// their sums are those of the step report; moves lie beside them, on the stream of their fabric.
struct SceneSpan {
  SpanKind kind = SpanKind::kernel;
  int stream = 0;                    ///< index into StepScene::streams
  int name = 0;                      ///< index into StepScene::names
  Pass pass = Pass::forward;
  int layer = 0;                     ///< copy of the block within the action, from 0
  double start = 0, end = 0;
};

struct SceneStream { std::string key, name; };  ///< "compute", "compute"; "node", "node: nvswitch"

/// Something outside of the pipeline, the same on every rank, from the step's begin.
struct SceneStretch { std::string name, key; bool communication = false; double start = 0, end = 0; };

struct StepScene {
  std::string title;                 ///< network, machine and split, for people
  std::vector<std::string> names;
  std::vector<SceneStream> streams;  ///< "step" (phases), "pipeline" (actions), "compute", one per fabric level, "send" (ahead, back), "host"
  /// By (virtual stage, ActionKind, slice): what is inside the action, laid for the stage's own time; an action that takes longer
  /// (a slow rank, a fused pair) stretches it.
  std::vector<std::vector<SceneSpan>> inside;
  std::vector<double> inside_seconds;  ///< that the spans were laid for
  const Order* order = nullptr;        ///< of the prediction, which must outlive the scene
  const Timeline* timeline = nullptr;
  double begin = 0, end = 0;           ///< of the pipeline, in the step; the end of the step
  std::vector<double> hop_ahead, hop_back;  ///< by virtual stage: of what it hands on
  bool blocking_hops = false;
  std::vector<SceneStretch> around;
  std::vector<double> kept, always;    ///< memory, as MemoryReport has it: bytes
  double capacity = 0;
  std::int64_t ranks_per_stage = 1, stage_stride = 1;
  int slowest_stage = 0;

  [[nodiscard]] std::size_t inside_index(int stage, ActionKind kind, int slice) const;
};

Expected<StepScene> step_scene(const Scenario& scenario, const Prediction& prediction);

/// How much of it a trace holds.
enum class TraceDetail : std::uint8_t { actions, kernels };
struct TraceChoice {
  TraceDetail detail = TraceDetail::kernels;
  bool all_ranks = false;            ///< every GPU, or one per stage
};
/// Events that the trace would have, without writing it.
std::int64_t trace_events(const StepScene& scene, const TraceChoice& choice);
/// Chrome's trace event format, which Perfetto reads.
std::string scene_trace(const StepScene& scene, const TraceChoice& choice);
/// Self-contained, zoomable.
std::string timeline_page(const StepScene& scene);

}  // namespace stepcast
