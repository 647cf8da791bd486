// A scene as a trace: a process per rank, its streams as threads, arrows from a send to the action that it feeds and
// from a move to the kernel that waited for it, and a counter of what the rank keeps. On one thread slices follow each
// other.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/cli/output_file.h"
#include "studies/print/digits.h"
#include "studies/timeline/schedule_report.h"
#include "studies/timeline/memory_svg.h"
#include "studies/timeline/scene.h"
#include "studies/timeline/trace_writer.h"

namespace stepcast::timeline {
namespace {

constexpr std::array<std::string_view, 4> action_categories = {
    "forward", "backward", "input gradient", "weight gradient"};
/// By Pass and by KernelClass. Viewers take commas apart.
constexpr std::array<std::string_view, 5> pass_words = {"forward", "recompute", "input_grad", "weight_grad", "step"};
constexpr std::array<std::string_view, 5> class_words = {"gemm", "attention", "pointwise", "lookup", "scan"};
/// Threads of one stream, at most: sends that are under way at once have one each.
constexpr int lanes_of_stream = 1000;

class SceneTrace {
 public:
  SceneTrace(const StepScene& scene, const TraceChoice& choice, TraceWriter& writer)
      : scene_(scene), order_(*scene.order), choice_(choice), writer_(writer) {
    index_actions();
    for (const std::string& name : scene.names) names_.push_back(json_quoted(name));
    for (const SceneStream& stream : scene.streams) stream_names_.push_back(json_quoted(stream.name));
    for (const std::string_view pass : pass_words)
      for (const std::string_view work : class_words) categories_.push_back(fmt::format("kernel,{},{}", pass, work));
    counter_ = json_quoted(scene.counter);
    counted_ = json_quoted(scene.counted);
  }

  void write() {
    writer_.begin(trace_mark, json_quoted(scene_.title),
        json_quoted("times in microseconds, memory in " + scene_.counted),
        scene_.size.empty() ? "" : json_quoted(scene_.size));
    for (int rank = 0; rank < order_.ranks; ++rank)
      for (std::int64_t gpu = 0; gpu < copies(); ++gpu) add_rank(rank, gpu);
  }

  /// Ranks of a stage have as many events each.
  std::int64_t count() {
    for (int rank = 0; rank < order_.ranks; ++rank) add_rank(rank, 0);
    return writer_.events() * copies();
  }

 private:
  [[nodiscard]] std::int64_t copies() const { return choice_.all_ranks ? scene_.ranks_per_stage : 1; }
  [[nodiscard]] bool shows_kernels() const { return choice_.detail == TraceDetail::kernels && !scene_.inside.empty(); }

  /// The number of a GPU of the pipeline rank, or of the pipeline rank itself.
  [[nodiscard]] std::int64_t process_of(int rank, std::int64_t gpu) const {
    if (!choice_.all_ranks) return rank;
    const std::int64_t stride = scene_.stage_stride;
    return (gpu / stride * order_.ranks + rank) * stride + gpu % stride;
  }

  /// Positions by (way, stage, unit), to find what an action feeds.
  void index_actions() {
    position_.assign(std::size_t{2} * order_.stages() * order_.units(), -1);
    for (std::size_t i = 0; i < order_.actions.size(); ++i) {
      const Action& action = order_.actions[i];
      if (action.kind != ActionKind::weight_grad)
        slot(action.kind != ActionKind::forward, action.stage, action.micro_batch) = static_cast<std::int32_t>(i);
    }
  }
  std::int32_t& slot(bool back, int stage, int unit) {
    return position_[(static_cast<std::size_t>(back) * order_.stages() + stage) * order_.units() + unit];
  }

  void add_rank(int rank, std::int64_t gpu) {
    process_ = process_of(rank, gpu);
    gpu_ = gpu;
    named_.assign(scene_.streams.size(), false);
    for (std::vector<double>& lanes : send_ends_) lanes.clear();
    name_rank(rank);
    add_around();
    for (std::int32_t i = order_.begin[rank]; i < order_.begin[rank + 1]; ++i) add_action(rank, i);
    if (!scene_.holds.empty())
      for (const HopHold& hold : scene_.holds[rank])
        slice(StepScene::pipeline_stream, hold.start, hold.end, "\"blocking send or receive\"", "hold", "");
    count_held(rank);
  }

  void name_rank(int rank) {
    const std::string name = choice_.all_ranks ? fmt::format("\"rank {} ({} {})\"", process_, scene_.rank_word, rank)
                                               : fmt::format("\"{} {}\"", scene_.rank_word, rank);
    writer_.name_process(process_, name, process_);
    if (!shows_kernels()) return;
    for (int stream = 0; stream < static_cast<int>(scene_.streams.size()); ++stream) name_stream(stream);
  }

  /// Once: a stream that a trace of actions alone does not use stays without a name.
  void name_stream(int stream) {
    if (named_[stream]) return;
    named_[stream] = true;
    writer_.name_thread({process_, stream}, stream_names_[stream], stream * lanes_of_stream);
  }

  void slice(
      int stream, double start, double end, std::string_view name, std::string_view category, std::string_view args) {
    name_stream(stream);
    writer_.slice({process_, stream}, start, end, name, category, args);
  }

  void add_around() {
    for (const SceneStretch& stretch : scene_.around) {
      const std::string name = json_quoted(stretch.name);
      slice(StepScene::step_stream, stretch.start, stretch.end, name, "phase", "");
      if (stretch.stream >= 0)
        slice(stretch.stream, stretch.start, stretch.end, name, stretch.communication ? "move" : "host", "");
    }
    if (scene_.end > 0)
      slice(StepScene::step_stream, scene_.begin, scene_.begin + scene_.timeline->makespan.value(), "\"pipeline\"",
          "phase", "");
  }

  void add_action(int rank, std::int32_t i) {
    const Action& action = order_.actions[i];
    const std::string text = fmt::format("{}{}{}", action.stage, letter_of(action.kind), action.micro_batch);
    const int micro_batch = action.micro_batch / order_.slices, part = action.micro_batch % order_.slices;
    const std::string args =
        order_.slices == 1
            ? fmt::format(R"({{"stage":{},"micro_batch":{}}})", action.stage, micro_batch)
            : fmt::format(R"({{"stage":{},"micro_batch":{},"slice":{}}})", action.stage, micro_batch, part);
    slice(StepScene::pipeline_stream, scene_.action_start[i], scene_.action_end[i], "\"" + text + "\"",
        action_categories[static_cast<std::size_t>(action.kind)], args);
    if (shows_kernels()) add_inside_of(static_cast<std::size_t>(i));
    if (action.kind == ActionKind::weight_grad) return;
    const bool back = action.kind != ActionKind::forward;
    if (sends(rank, back ? order_.after(action.stage) : order_.before(action.stage)))
      writer_.arrow_to(hop_id(i), {process_, StepScene::pipeline_stream}, scene_.action_start[i], "hop");
    if (const int taker = back ? order_.before(action.stage) : order_.after(action.stage); sends(rank, taker))
      add_hop(i, taker, text);
  }

  /// Between `rank` and the stage's.
  [[nodiscard]] bool sends(int rank, int stage) const { return stage >= 0 && order_.rank_of[stage] != rank; }

  /// Even; waits have the odd ones.
  [[nodiscard]] std::int64_t hop_id(std::int32_t taker) const { return 2 * (taker * copies() + gpu_ + 1); }

  void add_inside_of(std::size_t i) {
    const std::size_t index = scene_.inside_index(i);
    const std::vector<SceneSpan>& spans = scene_.inside[index];
    const double start = scene_.action_start[i], end = scene_.action_end[i];
    const double stretch = scene_.inside_seconds[index] > 0 ? (end - start) / scene_.inside_seconds[index] : 0;
    const auto at = [&](double time) { return std::min(end, start + time * stretch); };
    int waited_for = -1;
    for (const SceneSpan& span : spans) {
      writer_.slice({process_, span.stream}, at(span.start), at(span.end), names_[span.name], category_of(span),
          layer_args(span.layer));
      if (span.kind == SpanKind::wait) waited_for = span.waits_for;
      if (span.kind != SpanKind::kernel) continue;
      if (waited_for >= 0) {
        const std::int64_t id = 2 * ++waits_ + 1;
        writer_.arrow_from(id, {process_, spans[waited_for].stream}, at(spans[waited_for].start), "wait");
        writer_.arrow_to(id, {process_, span.stream}, at(span.start), "wait");
      }
      waited_for = -1;
    }
  }

  std::string_view category_of(const SceneSpan& span) {
    const auto pass = static_cast<std::size_t>(span.pass), work = static_cast<std::size_t>(span.work);
    if (span.kind == SpanKind::kernel) return categories_[pass * class_words.size() + work];
    return span.kind == SpanKind::wait ? "wait" : "move";
  }

  std::string_view layer_args(int layer) {
    if (layer < 0) return "";
    while (static_cast<int>(layers_.size()) <= layer)
      layers_.push_back(fmt::format(R"({{"layer":{}}})", layers_.size()));
    return layers_[layer];
  }

  void add_hop(std::int32_t i, int taker, const std::string& text) {
    const Action& action = order_.actions[i];
    const bool back = action.kind != ActionKind::forward;
    const double sent = scene_.begin + scene_.timeline->end[i].value(),
                 hop = (back ? scene_.hop_back : scene_.hop_ahead)[action.stage];
    const TracePlace from{process_, send_thread(back, sent, sent + hop)};
    writer_.slice(from, sent, sent + hop, "\"send " + text + "\"", "send", "");
    writer_.arrow_from(hop_id(slot(back, taker, action.micro_batch)), from, sent, "hop");
  }

  /// The first thread of the stream that is free by then; a further one is named as it is needed.
  int send_thread(bool back, double from, double until) {
    std::vector<double>& ends = send_ends_[back ? 1 : 0];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > from) ++lane;
    const int stream = back ? scene_.send_back_stream : scene_.send_ahead_stream;
    const int thread = lane == 0 ? stream : static_cast<int>(scene_.streams.size() + 2 * lane) + (back ? 1 : 0);
    if (lane == ends.size()) {
      ends.push_back(0);
      if (lane == 0) name_stream(stream);
      else
        writer_.name_thread({process_, thread},
            json_quoted(fmt::format("{} {}", scene_.streams[stream].name, lane + 1)),
            stream * lanes_of_stream + static_cast<int>(lane));
    }
    ends[lane] = until;
    return thread;
  }

  void count_held(int rank) {
    const std::vector<MemoryStep> steps = memory_steps(scene_, rank);
    for (std::size_t i = scene_.always.empty() ? 1 : 0; i < steps.size(); ++i)
      writer_.count(process_, steps[i].time, counter_, counted_, std::llround(steps[i].bytes));
  }

  const StepScene& scene_;
  const Order& order_;
  TraceChoice choice_;
  TraceWriter& writer_;
  std::vector<std::string> names_, stream_names_, layers_;  ///< in quotes; arguments by layer
  std::vector<std::string> categories_;                     ///< of kernels, by pass and class
  std::string counter_, counted_;
  std::vector<std::int32_t> position_;
  std::int64_t waits_ = 0;
  // Of the process at hand:
  std::int64_t process_ = 0, gpu_ = 0;
  std::vector<bool> named_;                       ///< by stream
  std::array<std::vector<double>, 2> send_ends_;  ///< by direction and lane
};

}  // namespace

std::int64_t trace_events(const StepScene& scene, const TraceChoice& choice) {
  TraceWriter writer(scene.microseconds, true);
  return SceneTrace(scene, choice, writer).count();
}

Expected<void> check_trace_size(const StepScene& scene, const TraceChoice& choice, const std::string& where) {
  const std::int64_t events = trace_events(scene, choice);
  if (events <= most_trace_events) return {};
  std::string hint;
  if (choice.detail == TraceDetail::kernels) hint = "--detail actions";
  if (choice.all_ranks) hint += hint.empty() ? "--ranks stages" : " or --ranks stages";
  const auto text = [](std::int64_t count) { return grouped_digits(static_cast<double>(count)); };
  return fail(where,
      fmt::format("the trace would have {} events, more than the {} that viewers can show", text(events),
          text(most_trace_events)),
      hint.empty() ? "fewer micro-batches: a smaller --global-batch" : hint);
}

bool is_trace_file(const std::string& name) { return file_holds(name, trace_mark); }

std::string scene_trace(const StepScene& scene, const TraceChoice& choice) {
  TraceWriter writer(scene.microseconds, false);
  writer.expect(trace_events(scene, choice));
  SceneTrace(scene, choice, writer).write();
  return writer.finish();
}

}  // namespace stepcast::timeline
