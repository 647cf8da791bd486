// Traces of PyTorch's profiler (Kineto; torch.profiler.profile(record_shapes=True), export_chrome_trace): kernels with
// their duration in microseconds, linked by "External id" to the operator that launched them, whose inputs' sizes make
// the query. Collectives carry their own message sizes. A kernel whose shape the trace does not hold is left out, with
// its share.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/delimited.h"
#include "calibrate/import/device_name.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/profilers/kernel_name.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/import/profilers/torch_op.h"
#include "calibrate/rows/measurement_context.h"

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;

/// The value under a key of an object, or null.
const Json& under(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto at = object.find(key);
  return at == object.end() ? nothing : *at;
}
std::string text_under(const Json& object, const char* key) {
  const Json& value = under(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
double number_under(const Json& object, const char* key, double otherwise) {
  const Json& value = under(object, key);
  return value.is_number() ? value.get<double>() : otherwise;
}

Expected<Json> parsed_trace(std::string_view text, const std::string& where) {
  try {
    Json trace = Json::parse(text.begin(), text.end());
    if (!under(trace, "traceEvents").is_array()) return fail(where, "no list traceEvents", "a trace of torch.profiler");
    return trace;
  } catch (const Json::exception&) {
    return fail(where, "this is no JSON, or not all of it",
        "a whole trace of torch.profiler as JSON (unpacked, if it ends in .gz)");
  }
}

/// Numbers of "Input Dims"; an input that is a list of tensors, or none, has no sizes.
std::vector<double> sizes_of_input(const Json& input) {
  std::vector<double> sizes;
  if (!input.is_array()) return {};
  for (const Json& size : input) {
    if (!size.is_number()) return {};
    sizes.push_back(size.get<double>());
  }
  return sizes;
}

TorchCall torch_call(const Json& event) {
  TorchCall call;
  call.name = text_under(event, "name");
  const Json& args = under(event, "args");
  if (const Json& inputs = under(args, "Input Dims"); inputs.is_array())
    for (const Json& input : inputs) call.sizes.push_back(sizes_of_input(input));
  for (const auto& [key, list] : {std::pair{"Input type", &call.types}, {"Concrete Inputs", &call.values}}) {
    const Json& inputs = under(args, key);
    if (!inputs.is_array()) continue;
    for (const Json& input : inputs) list->push_back(input.is_string() ? input.get<std::string>() : std::string());
  }
  return call;
}

std::int64_t external_id(const Json& event) {
  const Json& args = under(event, "args");
  return static_cast<std::int64_t>(number_under(args, "External id", number_under(args, "external id", -1)));
}

/// The kernels that one call launched: a split product has a second one that adds up.
struct LaunchedKernels {
  std::string longest;
  double seconds = 0, longest_seconds = 0;
  std::int64_t device = 0;
};

class KinetoImport {
 public:
  KinetoImport(const Json& trace, const std::string& where, const ImportOptions& options)
      : trace_(trace), where_(where), options_(options), file_(last_of_path(where)) {}

  Expected<Measurements> run() {
    read_context();
    if (!error_) read_events();
    if (!error_) add_calls();
    if (error_) return tl::unexpected<Error>(*error_);
    return finish();
  }

 private:
  void read_context();
  void read_events();
  void take_kernel(const Json& event, std::size_t index);
  void take_collective(const Json& event, const std::string& name, double seconds);
  std::optional<CollectiveQuery> collective_query(const Json& args, const std::string& name, std::string& lacks) const;
  void add_calls();
  Expected<Measurements> finish();

  const Json& trace_;
  const std::string& where_;
  const ImportOptions& options_;
  std::string file_;
  MeasurementContext context_;
  std::size_t devices_ = 0;
  double world_size_ = 0;
  std::unordered_map<std::int64_t, TorchCall> calls_;
  std::map<std::int64_t, LaunchedKernels> launched_;  ///< by call, in order, so that the same trace reads the same
  ShapelessKernels shapeless_;
  std::size_t kernels_ = 0, timeless_ = 0;
  bool collectives_ = false;
  Measurements out_;
  std::optional<Error> error_;
};

void KinetoImport::read_context() {
  const Json& devices = under(trace_, "deviceProperties");
  devices_ = devices.is_array() ? devices.size() : 0;
  if (devices_ > 0) context_.device = text_under(devices[0], "name");
  world_size_ = number_under(under(trace_, "distributedInfo"), "world_size", 0);
  context_.nccl = text_under(under(trace_, "distributedInfo"), "nccl_version");
  context_.gpu = gpu_of_device(context_.device);
  context_.software = "PyTorch";
  context_.launch_mode = "eager";
  if (!options_.context.launch_mode.empty()) context_.launch_mode.clear();
  auto merged = merged_context(context_, options_.context, where_);
  if (!merged) error_ = merged.error();
  else if (merged->gpu.empty())
    error_ = Error{where_,
        context_.device.empty() ? "nothing says which GPU it was"
                                : fmt::format("device '{:.60}' is not in the catalogue", context_.device),
        "say which: --gpu h100-sxm"};
  else context_ = std::move(*merged);
}

void KinetoImport::read_events() {
  const Json& events = under(trace_, "traceEvents");
  for (const Json& event : events)
    if (text_under(event, "cat") == "cpu_op" && external_id(event) >= 0) calls_[external_id(event)] = torch_call(event);
  for (std::size_t i = 0; i < events.size() && !error_; ++i)
    if (text_under(events[i], "cat") == "kernel") take_kernel(events[i], i);
}

void KinetoImport::take_kernel(const Json& event, std::size_t index) {
  const std::string name = text_under(event, "name");
  const Json& duration = under(event, "dur");
  if (name.empty() || !duration.is_number()) {
    error_ =
        Error{fmt::format("{}: kernel {}", where_, index + 1), "no name or no duration", "whole events of a profiler"};
    return;
  }
  const double seconds = duration.get<double>() * 1e-6;
  ++kernels_;
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    ++timeless_;
    return;
  }
  shapeless_.add_total(seconds);
  if (under(event, "args").contains("Collective name") || kernel_class(name) == "collective")
    return take_collective(event, name, seconds);
  const std::int64_t id = external_id(event);
  if (!calls_.contains(id)) return shapeless_.leave_out(name, "no operator in the trace launched them", seconds);
  LaunchedKernels& launched = launched_[id];
  launched.seconds += seconds;
  if (seconds <= launched.longest_seconds) return;
  launched.longest_seconds = seconds;
  launched.longest = name;
}

/// Bytes of the whole buffer: what a gather gives, what everything else takes.
std::optional<CollectiveQuery> KinetoImport::collective_query(
    const Json& args, const std::string& name, std::string& lacks) const {
  const std::string said = text_under(args, "Collective name");
  const auto kind = said.empty() ? collective_of_kernel(name) : collective_kind_of(said);
  const double in = number_under(args, "In msg nelems", 0), out = number_under(args, "Out msg nelems", 0);
  const double element = element_bytes_of(text_under(args, "dtype")), group = number_under(args, "Group size", 0);
  const double elements = kind == CollectiveKind::all_gather ? out : in;
  if (!kind || !(elements >= 1) || element == 0 || !(group >= 2 && group < 1e7)) {
    lacks = "collectives without message size, type or group size (newer PyTorch records them)";
    return std::nullopt;
  }
  const bool one_node = world_size_ > 0 && world_size_ <= static_cast<double>(devices_);
  const std::int64_t nodes = options_.nodes > 0 ? options_.nodes : one_node ? 1 : 0;
  const auto ranks = static_cast<std::int64_t>(group);
  if (nodes == 0 || ranks % nodes != 0) {
    lacks = "collectives of groups that may span nodes (say how many: --nodes 2)";
    return std::nullopt;
  }
  return CollectiveQuery{*kind, ranks, nodes, Bytes(elements * element)};
}

void KinetoImport::take_collective(const Json& event, const std::string& name, double seconds) {
  std::string lacks;
  const auto query = collective_query(under(event, "args"), name, lacks);
  if (!query) return shapeless_.leave_out(name, lacks, seconds);
  collectives_ = true;
  MeasurementContext context = context_;
  if (context.fabric.empty() && query->nodes == 1) context.fabric = fabric_of_gpu(context.gpu);
  add_row(out_, {*query, Seconds(seconds), {}, {}}, context);
}

void KinetoImport::add_calls() {
  for (const auto& [id, launched] : launched_) {
    const TorchCall& call = calls_.at(id);
    TorchQuery found = query_of(call, element_type_of_kernel(launched.longest));
    if (!found.query) {
      shapeless_.leave_out(launched.longest,
          found.lacks.empty() ? "operators that make no query" : "operators that do not say " + found.lacks,
          launched.seconds);
      continue;
    }
    if (auto* gemm = std::get_if<GemmQuery>(&*found.query))
      if (const auto layout = layout_of_kernel(launched.longest)) gemm->layout = *layout;
    add_row(out_, {*found.query, Seconds(launched.seconds), {}, {}}, context_);
  }
}

Expected<Measurements> KinetoImport::finish() {
  std::vector<std::string> notes = shapeless_.notes(file_);
  if (timeless_ > 0) notes.push_back(fmt::format("{}: left out {} kernels without a duration", file_, timeless_));
  if (collectives_)
    notes.push_back(fmt::format(
        "{}: collectives of a trace include waiting for the last rank; their shortest runs say most", file_));
  if (kernels_ == 0) return fail(where_, "no kernels", "a trace with ProfilerActivity.CUDA");
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

Expected<Measurements> read_kineto(std::string_view text, const std::string& where, const ImportOptions& options) {
  TRY(const auto trace, parsed_trace(text, where));
  return KinetoImport(trace, where, options).run();
}

}  // namespace stepcast::calibrate
