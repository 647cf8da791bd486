// NVIDIA/nvbench's JSON (--json): devices once, then per benchmark its states. A state holds the values of its axes and
// summaries by tag; times are seconds, and numbers stand in strings. Axes with our words make the query:
// m, n, k, dtype of a GEMM, Elements of an operator that the benchmark is named after.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/rows/device_name.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/tables/plain_row.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Which summary gives the time. Cold: isolated calls with the L2 flushed before each (docs/benchmarks.md); the median
/// of newer versions is less moved by outliers than the mean.
constexpr std::string_view nvbench_times[] = {
    "nv/cold/time/gpu/median", "nv/cold/time/gpu/mean", "nv/batch/time/gpu/mean"};

struct NvbenchState {
  PlainFields axes;
  std::map<std::string, std::string, std::less<>> summaries;
};

/// A value is a string, but for versions and hand-edited files that write numbers.
std::string text_of_value(JsonObject& object, const std::string& key) {
  std::string text;
  double number = 0;
  if (object.type_of(key) != "number") object.optional(key, text);
  else object.optional(key, number, NumberRange{});
  return text.empty() && number != 0 ? fmt::format("{}", number) : text;
}

std::map<std::int64_t, std::string> nvbench_devices(JsonObject& file) {
  std::map<std::int64_t, std::string> names;
  for (JsonObject& device : file.optional_objects("devices")) {
    std::int64_t id = 0;
    std::string name;
    device.optional("id", id, IntegerRange{});
    device.optional("name", name);
    device.allow_unknown_keys();
    names[id] = name;
  }
  return names;
}

NvbenchState nvbench_state(JsonObject& state) {
  NvbenchState out;
  for (JsonObject& axis : state.optional_objects("axis_values")) {
    std::string name;
    axis.read("name", name);
    const std::string value = text_of_value(axis, "value");
    if (!value.empty()) out.axes[lower_case(name)] = value;
    axis.allow_unknown_keys();
  }
  for (JsonObject& summary : state.optional_objects("summaries")) {
    std::string tag;
    summary.optional("tag", tag);
    for (JsonObject& datum : summary.optional_objects("data")) {
      std::string name;
      datum.read("name", name);
      if (name == "value") out.summaries[tag] = text_of_value(datum, "value");
      datum.allow_unknown_keys();
    }
    summary.allow_unknown_keys();
  }
  state.allow_unknown_keys();
  return out;
}

/// The axis that the user maps, else by its own name; an operator's name from the benchmark's where no axis says it.
PlainFields nvbench_fields(const NvbenchState& state, const std::string& benchmark, const ImportOptions& options) {
  PlainFields fields = state.axes;
  for (const auto& [ours, theirs] : options.columns)
    if (const auto at = state.axes.find(lower_case(theirs)); at != state.axes.end())
      fields[lower_case(ours)] = at->second;
  const bool known = find_memory_op(lower_case(benchmark)) != nullptr || collective_kind_of(benchmark);
  if (!find_field(fields, "op") && !find_field(fields, "kind") && known) fields["op"] = lower_case(benchmark);
  return fields;
}

/// Above zero, in seconds; nothing where the state has no such summary.
Expected<std::optional<Seconds>> nvbench_seconds(
    const NvbenchState& state, std::string_view tag, const std::string& where) {
  const auto at = state.summaries.find(tag);
  if (at == state.summaries.end()) return std::optional<Seconds>();
  TRY(const auto value, finite_number(at->second, where, fmt::format("summary '{}'", tag)));
  if (!(value > 0))
    return fail(where, fmt::format("time {} in summary '{}'", value, tag), "times of real calls, above 0");
  return std::optional(Seconds(value));
}

Expected<Measurement> nvbench_measurement(const NvbenchState& state, const std::string& where) {
  Measurement row;
  for (const std::string_view tag : nvbench_times) {
    TRY(const auto time, nvbench_seconds(state, tag, where));
    if (!time) continue;
    row.time = *time;
    break;
  }
  if (row.time == Seconds(0))
    return fail(where, "no summary of GPU time", "nv/cold/time/gpu/mean: run the benchmark without --profile");
  const auto low = nvbench_seconds(state, "nv/cold/time/gpu/q1", where),
             high = nvbench_seconds(state, "nv/cold/time/gpu/q3", where);
  if (low && high && *low && *high) {
    row.low = **low;
    row.high = **high;
  }
  if (const auto size = state.summaries.find("nv/cold/sample_size"); size != state.summaries.end())
    if (const auto repeats = finite_number(size->second, where, "sample size");
        repeats && *repeats >= 1 && *repeats < 1e9)
      row.repeats = static_cast<int>(*repeats);
  return row;
}

/// What the states of one file share while they are read.
struct NvbenchImport {
  const ImportOptions& options;
  std::map<std::int64_t, std::string> devices;
  Measurements out;
  std::size_t skipped = 0, states = 0;
  std::optional<Error> shapeless;  ///< why the first state that made no query did not
  std::size_t shapeless_states = 0;
};

Expected<void> take_state(NvbenchImport& import, JsonObject& object, const std::string& benchmark) {
  const std::string where = object.where();
  ++import.states;
  bool skipped = false;
  std::int64_t device = 0;
  object.optional("is_skipped", skipped);
  object.optional("device", device, IntegerRange{});
  const NvbenchState state = nvbench_state(object);
  if (object.failed()) return {};
  if (skipped) return void(++import.skipped), Expected<void>{};
  const PlainFields fields = nvbench_fields(state, benchmark, import.options);
  const auto query = plain_query(fields, where, import.options);
  if (!query) {
    ++import.shapeless_states;
    if (!import.shapeless) import.shapeless = query.error();
    return {};
  }
  TRY(auto row, nvbench_measurement(state, where));
  MeasurementContext context = context_of_device(import.devices.contains(device) ? import.devices.at(device) : "");
  context.software = fmt::format("nvbench {}", benchmark);
  TRY(const auto merged, merged_context(context, import.options.context, where));
  if (merged.gpu.empty()) return tl::unexpected(gpu_missing(merged, where));
  row.what = *query;
  add_row(import.out, std::move(row), merged);
  return {};
}

}  // namespace

int recognise_nvbench(std::string_view text, const std::string&) {
  const bool object =
      stripped(text.substr(0, std::min<std::size_t>(text.size(), 64))).starts_with('{') || text.starts_with("{");
  if (!object) return 0;
  return text.find("\"nvbench\"") != std::string_view::npos && text.find("\"benchmarks\"") != std::string_view::npos
             ? 95
         : text.find("nv/cold/time") != std::string_view::npos ? 90
                                                               : 0;
}

Expected<Measurements> read_nvbench(std::string_view text, const std::string& where, const ImportOptions& options) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  NvbenchImport import{options, nvbench_devices(file), {}, 0, 0, {}, 0};
  for (JsonObject& benchmark : file.objects("benchmarks")) {
    std::string name;
    benchmark.read("name", name);
    benchmark.allow_unknown_keys();
    for (JsonObject& state : benchmark.objects("states")) {
      TRY(take_state(import, state, name));
    }
  }
  if (const auto error = file.first_error()) return tl::unexpected<Error>(*error);
  if (import.out.rows.empty())
    return import.shapeless
               ? tl::unexpected<Error>(*import.shapeless)
               : fail(where, fmt::format("{} states, none of them timed", import.states), "a benchmark that ran");
  const std::string file_name(last_of_path(where));
  if (import.skipped > 0)
    import.out.notes.push_back(fmt::format("{}: left out {} skipped states", file_name, import.skipped));
  if (import.shapeless_states > 0)
    import.out.notes.push_back(fmt::format("{}: left out {} states whose axes make no query, the first {}", file_name,
        import.shapeless_states, to_text(*import.shapeless)));
  return std::move(import.out);
}

}  // namespace stepcast::calibrate
