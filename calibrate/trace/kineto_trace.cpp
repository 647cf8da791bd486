#include "calibrate/trace/kineto_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "calibrate/import/profilers/torch_op.h"
#include "calibrate/import/profilers/raw_event_reader.h"
#include "calibrate/trace/perfetto_reader.h"
#include "calibrate/trace/trace_builder.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
/// Categories of events on a GPU: Kineto's of today and of 2021, rocprofv3's.
struct DeviceCategory { std::string_view category; std::optional<WorkKind> kind; };
constexpr DeviceCategory device_categories[] = {
    {"kernel", std::nullopt}, {"gpu_memcpy", WorkKind::memcpy}, {"memcpy", WorkKind::memcpy},
    {"gpu_memset", WorkKind::memset}, {"memset", WorkKind::memset}, {"kernel_dispatch", std::nullopt},
    {"memory_copy", WorkKind::memcpy}};
constexpr std::string_view launch_categories[] = {
    "cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime", "hip_api", "hip_runtime_api"};
constexpr std::string_view range_categories[] = {"user_annotation", "marker_api"};

struct ElementBytes { std::string_view type; double bytes; };
/// PyTorch's names of types, as the metadata of collectives has them.
constexpr ElementBytes element_bytes[] = {{"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"BFloat16", 2}, {"Half", 2},
    {"Float", 4}, {"Double", 8}, {"Long", 8}, {"Int", 4}, {"Short", 2}, {"Byte", 1}, {"Char", 1}, {"Bool", 1}};

/// Kinds of what stepcast calls its kernels' classes.
struct OwnClass { std::string_view word; WorkKind kind; };
constexpr OwnClass own_classes[] = {{"gemm", WorkKind::gemm}, {"attention", WorkKind::attention},
    {"pointwise", WorkKind::elementwise}, {"lookup", WorkKind::embedding}, {"scan", WorkKind::scan}};
/// Phases of a step around its pipeline that compute; others communicate or wait.
constexpr std::string_view own_work_phases[] = {"norm and clip", "optimizer"};
constexpr std::string_view own_move_phases[] = {"gradient sync", "parameter gather"};
// clang-format on

class KinetoTrace {
 public:
  explicit KinetoTrace(const std::string& where) : where_(where) {}

  Expected<void> take(const RawTraceEvent& event) {
    ++events_;
    if (event.phase == "M" && event.name == "thread_name") threads_[{event.process, event.thread}] = event.shown;
    if (event.phase != "X") return {};
    if (head.generator.starts_with("stepcast ")) return take_own(event);
    return take_kineto(event);
  }

  Expected<std::vector<RankTrace>> finish() {
    if (built_.empty())
      return fail(where_, fmt::format("{} events, and none of them is of a GPU", events_),
          "a trace recorded with torch.profiler.ProfilerActivity.CUDA");
    const bool own = head.generator.starts_with("stepcast ");
    std::vector<RankTrace> traces = built_.finish();
    for (RankTrace& trace : traces) {
      if (own && trace.events.empty())
        return fail(where_, "a timeline without kernels of a training step",
            "what stepcast timeline writes, or a recorded trace");
      trace.file = where_;
      trace.tool = own ? "stepcast" : head.generator == perfetto_generator ? "Perfetto" : "Kineto";
      trace.world = head.world;
      if (own) trace.begin = 0, trace.end = own_end_, trace.title = head.title, trace.size = head.size;
      trace.rank = own ? trace.device : traces.size() == 1 ? head.rank : -1;
      for (const auto& [id, name] : head.gpus)
        if (id == trace.device || head.gpus.size() == 1) trace.gpu = name;
    }
    return traces;
  }

  RawTraceHead head;

 private:
  Expected<void> check_times(const RawTraceEvent& event) const {
    if (std::isfinite(event.start) && std::isfinite(event.duration) && event.duration >= 0) return {};
    return fail(where_,
        fmt::format("event {}, '{:.60}', has no start or no duration that is a number from 0", events_, event.name),
        "ts and dur in microseconds");
  }

  Expected<void> take_kineto(const RawTraceEvent& event) {
    category_ = lower_case(event.category);
    for (const DeviceCategory& row : device_categories)
      if (row.category == category_) return take_device(event, row.kind);
    if (event.correlation >= 0 && std::ranges::find(launch_categories, category_) != std::end(launch_categories)) {
      TRY(check_times(event));
      built_.launches.push_back({event.correlation, event.start, event.start + event.duration});
    }
    if (event.duration >= shortest_host_call && std::isfinite(event.start))
      if (const auto call = host_call_of(event.name))
        built_.calls.push_back({*call, event.start, event.start + event.duration});
    if (std::ranges::find(range_categories, category_) != std::end(range_categories)) return take_mark(event);
    if (event.external >= 0 && !event.inputs.empty() && (category_ == "cpu_op" || category_ == "operator"))
      take_operator(event);
    return {};
  }

  Expected<void> take_device(const RawTraceEvent& event, const std::optional<WorkKind>& kind) {
    TRY(check_times(event));
    DeviceEvent made{.start = event.start, .end = event.start + event.duration, .correlation = event.correlation};
    made.stream = static_cast<std::int32_t>(event.stream >= 0 ? event.stream : event.thread);
    double element = 0;
    for (const ElementBytes& row : element_bytes)
      if (row.type == event.type) element = row.bytes;
    built_.add(event.device >= 0 ? event.device : event.process, made, event.name, kind ? &*kind : nullptr,
        {event.collective, event.group, std::max(event.in_elements, event.out_elements) * element, ""}, event.external);
    return {};
  }

  /// Operators and the kernels that they launched come in any order.
  void take_operator(const RawTraceEvent& event) {
    const TorchQuery made = query_of({event.name, event.inputs, {}, {}}, ElementType{});
    if (!made.query) return;
    if (const auto* product = std::get_if<GemmQuery>(&*made.query))
      built_.products.try_emplace(event.external, TracedShape{product->m, product->n, product->k, product->batch});
  }

  Expected<void> take_mark(const RawTraceEvent& event) {
    const auto mark = host_mark_of(event.name, event.start, event.start + event.duration);
    if (!mark) return {};
    TRY(check_times(event));
    built_.marks.push_back(*mark);
    return {};
  }

  /// A trace that stepcast wrote: a process is a rank, a thread a stream. Actions and waits repeat what kernels and
  /// moves say and are left out.
  Expected<void> take_own(const RawTraceEvent& event) {
    TRY(check_times(event));
    own_end_ = std::max(own_end_, event.start + event.duration);
    DeviceEvent made{
        .start = event.start, .end = event.start + event.duration, .stream = static_cast<std::int32_t>(event.thread)};
    const std::string& thread = threads_[{event.process, event.thread}];
    const std::string_view category = event.category;
    if (category.starts_with("kernel,")) {
      const std::string_view word = category.substr(category.rfind(',') + 1);
      WorkKind kind = WorkKind::unplaced;
      for (const OwnClass& row : own_classes)
        if (row.word == word) kind = row.kind;
      built_.add(event.process, made, event.name, &kind, {});
    } else if (category == "move" || category == "send") {
      constexpr WorkKind kind = WorkKind::communication;
      built_.add(event.process, made, event.name, &kind,
          {move_kind(category, event.name), 0, 0, thread.substr(0, thread.find(':'))});
    } else if (category == "phase" && std::ranges::find(own_work_phases, event.name) != std::end(own_work_phases)) {
      constexpr WorkKind kind = WorkKind::optimizer;
      built_.add(event.process, made, event.name, &kind, {});
    } else if (category == "host") {
      built_.of(event.process).host.push_back({event.name, made.start, made.end});
    }
    return {};
  }

  /// Phases that communicate keep their names: they show what of their collectives nothing hides.
  static std::string move_kind(std::string_view category, const std::string& name) {
    if (category == "send") return "send_recv";
    if (std::ranges::find(own_move_phases, name) != std::end(own_move_phases)) return name;
    return std::string(collective_kind_in(name));
  }

  const std::string& where_;
  TraceBuilder built_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads_;
  std::string category_;
  std::size_t events_ = 0;
  double own_end_ = 0;
};

}  // namespace

Expected<std::vector<RankTrace>> read_kineto_trace(TimingsStream& stream) {
  const std::string where = stream.where();
  KinetoTrace trace(where);
  TRY(read_raw_events(
      stream, trace.head, OperatorInputs::sizes, [&](const RawTraceEvent& event) { return trace.take(event); }));
  return trace.finish();
}

Expected<std::vector<RankTrace>> read_perfetto_trace(TimingsStream& stream) {
  const std::string where = stream.where();
  KinetoTrace trace(where);
  TRY(read_perfetto_events(stream, trace.head, [&](const RawTraceEvent& event) { return trace.take(event); }));
  return trace.finish();
}

}  // namespace stepcast::calibrate
