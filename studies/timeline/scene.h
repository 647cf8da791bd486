// A scene is one step laid out for drawing: what every stream of every rank does when. A trace writes it event by
// event, a page draws it. Pipeline ranks are alike inside a stage, so a scene has one rank per stage; a trace may
// repeat them for all GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/engine/holds.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::timeline {

enum class SpanKind : std::uint8_t { kernel, wait, move };

/// A piece of an action on one stream, in seconds from the action's start. Kernels and waits of an action tile it
/// without gaps, so that their sums are those of the step report; moves lie beside them, on the stream of their fabric.
/// What takes no time is left out.
struct SceneSpan {
  SpanKind kind = SpanKind::kernel;
  int stream = 0;  ///< index into StepScene::streams
  int name = 0;    ///< index into StepScene::names
  Pass pass = Pass::forward;
  KernelClass work = KernelClass::pointwise;  ///< of a kernel
  int layer = 0;                              ///< of the action's layers, from 0; -1: of none (embedding, head)
  double start = 0, end = 0;
  int waits_for = -1;  ///< waits: position of the move in the same list; -1 = not in it
};

struct SceneStream {
  std::string key, name;
};  ///< "compute", "compute"; "node", "node: nvswitch"

/// Something outside of the pipeline, the same on every rank, from the step's begin.
struct SceneStretch {
  std::string name, key;
  bool communication = false;
  double start = 0, end = 0;
  int stream = -1;  ///< where it shows beside the stream "step": a fabric, the host; -1 = nowhere
};

struct StepScene {
  static constexpr int step_stream = 0, pipeline_stream = 1, compute_stream = 2, first_fabric_stream = 3;

  std::string title;  ///< network, machine and split, for people
  std::string size;   ///< of a training step: batch, sequence and precision, for people
  std::vector<std::string> names;
  /// "step" (phases), "pipeline" (actions), "compute"; each level of the machine (a second time, "beside compute",
  /// where what compute stands still for overlaps with what runs in the background); "send-ahead", "send-back", "host".
  std::vector<SceneStream> streams;
  int send_ahead_stream = 0, send_back_stream = 0, host_stream = 0;
  /// By (virtual stage, ActionKind, slice): what is inside the action, laid for the stage's own time; an action that
  /// takes longer (a slow rank, a fused pair) stretches it. Empty where the order has no such action.
  std::vector<std::vector<SceneSpan>> inside;
  std::vector<double> inside_seconds;  ///< that the spans were laid for
  const Order* order = nullptr;        ///< of the prediction, which must outlive the scene
  const Timeline* timeline = nullptr;
  double begin = 0, end = 0;  ///< of the pipeline, in the step; the end of the step
  /// By position in Order::actions, in the step, as drawn: a fused pair does its two actions at once, which a drawing
  /// shows one after the other, each for its share of the time.
  std::vector<double> action_start, action_end;
  std::vector<std::vector<HopHold>> holds;  ///< by rank, in the step: blocking hops, between actions
  std::vector<double> hop_ahead, hop_back;  ///< by virtual stage: of what it hands on
  bool blocking_hops = false;
  std::vector<SceneStretch> around;
  std::vector<double> kept, always;  ///< memory, as MemoryReport has it: bytes
  double capacity = 0;
  std::string too_much;  ///< memory that a GPU does not have, in words; "" where the step fits
  std::int64_t ranks_per_stage = 1, stage_stride = 1;
  int slowest_stage = 0;
  std::string rank_word = "stage";                         ///< what a pipeline rank is called
  std::string counter = "memory kept", counted = "bytes";  ///< what `kept` counts, and its unit
  double microseconds = 1e6;                               ///< of a unit of time

  [[nodiscard]] std::size_t inside_index(int stage, ActionKind kind, int slice) const;
  /// The index in `inside` of the action at this position in Order::actions.
  [[nodiscard]] std::size_t inside_index(std::size_t action) const;
  /// Fills action_start and action_end. Where nothing is known of what is inside, the two of a pair take halves.
  void place_actions();
};

/// Errors: those of lower_slices, which the prediction would have had, too.
Expected<StepScene> step_scene(const Scenario& scenario, const Prediction& prediction);
/// scene_inside.cpp: fills names, streams, inside and inside_seconds.
Expected<void> add_inside(const Scenario& scenario, const Prediction& prediction, StepScene& scene);

/// How much of it a trace holds.
enum class TraceDetail : std::uint8_t { actions, kernels };
struct TraceChoice {
  TraceDetail detail = TraceDetail::kernels;
  bool all_ranks = false;  ///< every GPU, or one per stage
};
/// What Perfetto loads within a minute in a browser, some 600 MB of text.
constexpr std::int64_t most_trace_events = 4'000'000;
/// Events that the trace would have, without writing it.
std::int64_t trace_events(const StepScene& scene, const TraceChoice& choice);
/// Errors: more than most_trace_events, with what makes it less.
Expected<void> check_trace_size(const StepScene& scene, const TraceChoice& choice, const std::string& where);
/// Chrome's trace event format, which Perfetto reads.
std::string scene_trace(const StepScene& scene, const TraceChoice& choice);
/// What a trace begins with, so that an earlier one is known.
constexpr std::string_view trace_mark = "{\"otherData\":{\"generator\":\"stepcast ";
bool is_trace_file(const std::string& name);
/// Self-contained, zoomable.
std::string timeline_page(const StepScene& scene);

}  // namespace stepcast::timeline
