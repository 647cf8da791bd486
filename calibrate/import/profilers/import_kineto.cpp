// Traces of PyTorch's profiler (Kineto; torch.profiler.profile(record_shapes=True), export_chrome_trace): kernels with
// their duration in microseconds, linked by "External id" to the operator that launched them, whose inputs' sizes make
// the query. Collectives carry their own message sizes. A kernel whose shape the trace does not hold is left out, with
// its share.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/importer.h"
#include "calibrate/rows/device_name.h"
#include "calibrate/import/profilers/kernel_name.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/import/profilers/torch_op.h"
#include "calibrate/import/profilers/raw_event_reader.h"
#include "calibrate/rows/measurement_context.h"

namespace stepcast::calibrate {
namespace {

/// The kernels that one call launched: a split product has a second one that adds up.
struct LaunchedKernels {
  const std::string* longest = nullptr;
  double seconds = 0, longest_seconds = 0;
};

/// What a kernel says of its collective; how many nodes its ranks stood on is known at the end of the trace.
struct TracedCollective {
  const std::string* kernel;
  std::optional<CollectiveKind> kind;
  double in, out, element, group, seconds;
};

/// Takes a trace event by event and keeps of each what makes a measurement. Operators and kernels come in any order.
class KinetoImport {
 public:
  KinetoImport(const std::string& where, const ImportOptions& options)
      : where_(where), options_(options), file_(last_of_path(where)) {}

  /// Errors: a kernel without a name or duration, more than is kept.
  Expected<void> take_event(const RawTraceEvent& event);
  Expected<Measurements> finish();

  RawTraceHead head;

 private:
  const std::string* kept(std::string text);
  void take_operator(const RawTraceEvent& event);
  void take_kernel(const RawTraceEvent& event);
  Expected<MeasurementContext> context() const;
  std::optional<CollectiveQuery> collective_query(const TracedCollective& traced, std::string& lacks) const;
  void add_collectives(const MeasurementContext& context);
  void add_calls(const MeasurementContext& context);

  const std::string& where_;
  const ImportOptions& options_;
  std::string file_;
  std::set<std::int64_t> used_devices_;
  std::unordered_set<std::string> texts_;                       ///< each name once: steps repeat their kernels
  std::unordered_map<const std::string*, TorchCall> shapes_;    ///< each call once, by its text
  std::unordered_map<std::int64_t, const std::string*> calls_;  ///< by external id
  std::map<std::int64_t, LaunchedKernels> launched_;  ///< by call, in order, so that the same trace reads the same
  std::vector<TracedCollective> collectives_;
  ShapelessKernels shapeless_;
  std::size_t events_ = 0, kernels_ = 0, timeless_ = 0, kept_bytes_ = 0;
  Measurements out_;
};

constexpr const char* no_operator = "no operator in the trace launched them";
/// What is kept of a trace of a million kernels is some hundred megabytes.
constexpr std::size_t most_kept_bytes = std::size_t{1} << 30, kept_entry = 160;

const std::string* KinetoImport::kept(std::string text) {
  const std::size_t size = text.size();
  const auto [at, added] = texts_.insert(std::move(text));
  kept_bytes_ += kept_entry + (added ? size : 0);
  return &*at;
}

Expected<void> KinetoImport::take_event(const RawTraceEvent& event) {
  ++events_;
  if (event.category == "cpu_op" && event.external >= 0) take_operator(event);
  if (event.category == "kernel") {
    if (event.name.empty() || std::isnan(event.duration))
      return fail(fmt::format("{}: event {}", where_, events_), "a kernel with no name or no duration",
          "whole events of a profiler");
    take_kernel(event);
  }
  if (kept_bytes_ > most_kept_bytes)
    return fail(where_, fmt::format("more operators and kernels than are kept, by event {}", events_),
        "a trace of fewer steps: schedule(active=1)");
  return {};
}

void KinetoImport::take_operator(const RawTraceEvent& event) {
  std::string text = event.name;
  for (const auto& sizes : event.inputs) text += fmt::format("\n{}", fmt::join(sizes, " "));
  for (const auto* list : {&event.types, &event.values}) text += fmt::format("\n{}", fmt::join(*list, "\t"));
  const std::string* call = kept(std::move(text));
  if (!shapes_.contains(call)) {
    kept_bytes_ += call->size();
    shapes_[call] = {event.name, event.inputs, event.types, event.values};
  }
  calls_[event.external] = call;
}

void KinetoImport::take_kernel(const RawTraceEvent& event) {
  const double seconds = event.duration * 1e-6;
  ++kernels_;
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    ++timeless_;
    return;
  }
  shapeless_.add_total(seconds);
  const std::string* kernel = kept(event.name);
  used_devices_.insert(std::max<std::int64_t>(event.device, 0));
  if (!event.collective.empty() || kernel_class(event.name) == "collective") {
    collectives_.push_back(
        {kernel, event.collective.empty() ? collective_of_kernel(event.name) : collective_kind_of(event.collective),
            event.in_elements, event.out_elements, element_bytes_of(event.type), static_cast<double>(event.group),
            seconds});
    return;
  }
  if (event.external < 0) return shapeless_.leave_out(event.name, no_operator, seconds);
  LaunchedKernels& launched = launched_[event.external];
  launched.seconds += seconds;
  if (seconds <= launched.longest_seconds) return;
  launched.longest_seconds = seconds;
  launched.longest = kernel;
}

/// The device that the kernels ran on. A host may have others beside it.
Expected<MeasurementContext> KinetoImport::context() const {
  std::set<std::string> names;
  for (const auto& [id, name] : head.gpus)
    if (used_devices_.contains(id)) names.insert(name);
  if (names.empty() && !head.gpus.empty()) names.insert(head.gpus.front().second);
  if (names.size() > 1)
    return fail(where_,
        fmt::format("its kernels ran on several devices: {:.200}", fmt::to_string(fmt::join(names, ", "))),
        "a trace of one rank, or of GPUs of one kind");
  MeasurementContext context = context_of_device(names.empty() ? "" : *names.begin());
  context.nccl = head.nccl;
  context.software = "PyTorch";
  if (options_.context.launch_mode.empty()) context.launch_mode = "eager";
  TRY(auto merged, merged_context(context, options_.context, where_));
  if (!merged.gpu.empty()) return merged;
  return tl::unexpected(gpu_missing(merged, where_));
}

/// Bytes of the whole buffer: what a gather gives, what everything else takes.
std::optional<CollectiveQuery> KinetoImport::collective_query(
    const TracedCollective& traced, std::string& lacks) const {
  const double elements = traced.kind == CollectiveKind::all_gather ? traced.out : traced.in;
  if (!traced.kind || !(elements >= 1) || traced.element == 0 || !(traced.group >= 2 && traced.group < 1e7)) {
    lacks = "collectives without message size, type or group size (newer PyTorch records them)";
    return std::nullopt;
  }
  const bool one_node = head.world > 0 && head.world <= std::ssize(head.gpus);
  const std::int64_t nodes = options_.nodes > 0 ? options_.nodes : one_node ? 1 : 0;
  const auto ranks = static_cast<std::int64_t>(traced.group);
  if (nodes == 0 || ranks % nodes != 0) {
    lacks = "collectives of groups that may span nodes (say how many: --nodes 2)";
    return std::nullopt;
  }
  return CollectiveQuery{*traced.kind, ranks, nodes, Bytes(elements * traced.element)};
}

void KinetoImport::add_collectives(const MeasurementContext& context) {
  for (const TracedCollective& traced : collectives_) {
    std::string lacks;
    const auto query = collective_query(traced, lacks);
    if (!query) {
      shapeless_.leave_out(*traced.kernel, lacks, traced.seconds);
      continue;
    }
    MeasurementContext own = context;
    if (own.fabric.empty() && query->nodes == 1) own.fabric = fabric_of_gpu(own.gpu);
    add_row(out_, {*query, Seconds(traced.seconds), {}, {}}, own);
  }
  if (!out_.rows.empty())
    out_.notes.push_back(fmt::format(
        "{}: collectives of a trace include waiting for the last rank; their shortest runs say most", file_));
}

void KinetoImport::add_calls(const MeasurementContext& context) {
  for (const auto& [id, launched] : launched_) {
    const auto call = calls_.find(id);
    if (call == calls_.end()) {
      shapeless_.leave_out(*launched.longest, no_operator, launched.seconds);
      continue;
    }
    TorchQuery found = query_of(shapes_.at(call->second), element_type_of_kernel(*launched.longest));
    if (!found.query) {
      shapeless_.leave_out(*launched.longest,
          found.lacks.empty() ? "operators that make no query" : "operators that do not say " + found.lacks,
          launched.seconds);
      continue;
    }
    if (auto* gemm = std::get_if<GemmQuery>(&*found.query))
      if (const auto layout = layout_of_kernel(*launched.longest)) gemm->layout = *layout;
    add_row(out_, {*found.query, Seconds(launched.seconds), {}, {}}, context);
  }
}

Expected<Measurements> KinetoImport::finish() {
  if (kernels_ == 0) return fail(where_, "no kernels", "a trace with ProfilerActivity.CUDA");
  TRY(const auto own, context());
  add_collectives(own);
  add_calls(own);
  std::vector<std::string> notes = shapeless_.notes(file_);
  if (timeless_ > 0) notes.push_back(fmt::format("{}: left out {} kernels without a duration", file_, timeless_));
  notes.insert(notes.end(), out_.notes.begin(), out_.notes.end());
  if (out_.rows.empty())
    return fail(where_, fmt::format("{} kernels, none with its shape", kernels_),
        notes.empty() ? "profile(record_shapes=True)" : fmt::format("profile(record_shapes=True); {}", notes.front()));
  out_.notes = std::move(notes);
  return std::move(out_);
}

}  // namespace

int recognise_kineto(std::string_view text, const std::string&) {
  if (text.find("\"traceEvents\"") == std::string_view::npos) return 0;
  const bool torch =
      text.find("\"cpu_op\"") != std::string_view::npos || text.find("\"deviceProperties\"") != std::string_view::npos;
  return torch ? 95 : 60;
}

Expected<Measurements> stream_kineto(TimingsStream& stream, const ImportOptions& options) {
  KinetoImport import(stream.where(), options);
  TRY(read_raw_events(
      stream, import.head, OperatorInputs::all, [&](const RawTraceEvent& event) { return import.take_event(event); }));
  return import.finish();
}

Expected<Measurements> read_kineto(std::string_view text, const std::string& where, const ImportOptions& options) {
  TimingsStream stream(where, text);
  return stream_kineto(stream, options);
}

}  // namespace stepcast::calibrate
