// Google Benchmark's JSON (--benchmark_format=json, docs/user_guide.md): context and benchmarks[] with real_time in
// time_unit. Arguments stand in the name as Args with names print them: "gemm/m:128/n:4096/k:4096/real_time". Of
// repetitions the median counts, with its lowest and highest run.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/tables/plain_row.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

constexpr Choice<double> benchmark_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

struct BenchmarkRun {
  std::string name, aggregate, where;
  Seconds time;
  double repetitions = 1;
  bool aggregated = false;
};

/// All that belongs to one name without its repetitions.
struct BenchmarkGroup {
  std::string name, where;
  std::vector<Seconds> runs;
  std::optional<Seconds> median, mean;
  double repetitions = 1;
};

/// "gemm/m:128/dtype:bf16/manual_time" -> op gemm, m 128, dtype bf16.
PlainFields benchmark_fields(std::string_view name, const ImportOptions& options) {
  PlainFields written;
  for (bool first = true; !name.empty(); first = false) {
    const std::size_t end = std::min(name.find('/'), name.size()), colon = name.substr(0, end).find(':');
    const std::string_view part = name.substr(0, end);
    if (colon != std::string_view::npos)
      written[lower_case(part.substr(0, colon))] = std::string(part.substr(colon + 1));
    else if (first) written["op"] = lower_case(part);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  PlainFields fields = written;
  for (const auto& [ours, theirs] : options.columns)
    if (const auto at = written.find(lower_case(theirs)); at != written.end()) fields[lower_case(ours)] = at->second;
  // "BM_Gemm<bf16>": the function's name may say gemm, or only its shape may.
  std::string& op = fields["op"];
  op = op.substr(0, op.find('<'));
  if (op.starts_with("bm_")) op = op.substr(3);
  const bool known = op == "gemm" || op == "matmul" || op == "attention" || op == "moe" ||
                     find_memory_op(op) != nullptr || collective_kind_of(op);
  if (!known) fields.erase("op");
  return fields;
}

std::optional<BenchmarkRun> benchmark_run(JsonObject& object) {
  BenchmarkRun run;
  run.where = object.where();
  std::string type = "iteration", unit = "ns", run_name;
  bool failed = false;
  object.read("name", run.name);
  object.optional("run_name", run_name);
  object.optional("run_type", type);
  object.optional("aggregate_name", run.aggregate);
  object.optional("error_occurred", failed);
  object.optional("repetitions", run.repetitions, NumberRange{0, 1e9});
  object.allow_unknown_keys();
  run.aggregated = type == "aggregate";
  if (!run_name.empty()) run.name = run_name;
  if (failed || (run.aggregated && run.aggregate != "median" && run.aggregate != "mean")) return std::nullopt;
  double time = 0;
  object.optional("time_unit", unit);
  object.read("real_time", time, NumberRange{});
  const auto* row = std::find_if(
      std::begin(benchmark_units), std::end(benchmark_units), [&](const auto& u) { return unit == u.name; });
  object.require(row != std::end(benchmark_units), "time_unit", fmt::format("unit '{:.20}'", unit), "ns, us, ms or s");
  object.require(time > 0, "real_time", fmt::format("time {}", time), "times of real calls, above 0");
  if (object.failed() || row == std::end(benchmark_units) || !(time > 0)) return std::nullopt;
  run.time = Seconds(time * row->value);
  return run;
}

Measurement benchmark_measurement(BenchmarkGroup& group) {
  Measurement row;
  std::sort(group.runs.begin(), group.runs.end());
  row.repeats = static_cast<int>(std::max(group.repetitions, static_cast<double>(group.runs.size())));
  if (!group.runs.empty()) {
    const std::size_t middle = group.runs.size() / 2;
    row.time = group.runs.size() % 2 == 1 ? group.runs[middle] : (group.runs[middle - 1] + group.runs[middle]) / 2;
    if (group.runs.size() > 1) {
      row.low = group.runs.front();
      row.high = group.runs.back();
    }
  }
  if (group.median || group.runs.empty()) row.time = group.median ? *group.median : *group.mean;
  return row;
}

Expected<std::vector<BenchmarkGroup>> benchmark_groups(JsonObject& file, std::size_t& left_out) {
  std::vector<BenchmarkGroup> groups;
  std::map<std::string, std::size_t> by_name;  // repetitions need not follow each other
  for (JsonObject& object : file.objects("benchmarks")) {
    const auto run = benchmark_run(object);
    if (file.failed()) break;
    if (!run) {
      ++left_out;
      continue;
    }
    const auto [at, added] = by_name.emplace(run->name, groups.size());
    if (added) groups.push_back({run->name, run->where, {}, {}, {}, 1});
    BenchmarkGroup& group = groups[at->second];
    group.repetitions = std::max(group.repetitions, run->repetitions);
    if (!run->aggregated) group.runs.push_back(run->time);
    else (run->aggregate == "median" ? group.median : group.mean) = run->time;
  }
  return file.finish(std::move(groups));
}

/// Google Benchmark knows the host, not the GPU; programs may add one with AddCustomContext("gpu", ...).
MeasurementContext benchmark_context(JsonObject& file) {
  MeasurementContext context;
  context.software = "Google Benchmark";
  auto object = file.optional_object("context");
  if (!object) return context;
  object->optional("date", context.date);
  object->optional("host_name", context.machine);
  constexpr std::string_view names[] = {"gpu", "device", "gpu_name", "device_name", "gpu_model", "cuda_device"};
  for (const std::string& key : object->keys())
    if (context.device.empty() && contains(names, lower_case(key)) && object->type_of(key) == "string")
      object->optional(key, context.device);
  object->allow_unknown_keys();
  context.gpu = gpu_of_device(context.device);
  return context;
}

}  // namespace

int recognise_google_benchmark(std::string_view text, const std::string&) {
  if (text.find("\"benchmarks\"") == std::string_view::npos || text.find("\"real_time\"") == std::string_view::npos)
    return 0;
  return text.find("\"context\"") != std::string_view::npos ? 95 : 70;
}

Expected<Measurements> read_google_benchmark(
    std::string_view text, const std::string& where, const ImportOptions& options) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  const auto context = merged_context(benchmark_context(file), options.context, where);
  std::size_t left_out = 0;
  TRY(auto groups, benchmark_groups(file, left_out));
  if (!context) return tl::unexpected<Error>(context.error());
  if (context->gpu.empty()) return tl::unexpected(gpu_missing(*context, where));
  Measurements out;
  std::optional<Error> shapeless;
  std::size_t shapeless_names = 0;
  for (BenchmarkGroup& group : groups) {
    const auto query = plain_query(benchmark_fields(group.name, options), group.where, options);
    if (!query) {
      ++shapeless_names;
      if (!shapeless)
        shapeless = Error{group.where, fmt::format("'{:.80}': {}", group.name, query.error().what), query.error().hint};
      continue;
    }
    Measurement row = benchmark_measurement(group);
    row.what = *query;
    add_row(out, std::move(row), *context);
  }
  if (out.rows.empty())
    return shapeless ? tl::unexpected<Error>(*shapeless)
                     : fail(where, "no benchmark that ran", "benchmarks with real_time");
  const std::string name(last_of_path(where));
  if (left_out > 0)
    out.notes.push_back(
        fmt::format("{}: left out {} runs that failed or are aggregates other than the median", name, left_out));
  if (shapeless_names > 0)
    out.notes.push_back(fmt::format(
        "{}: left out {} benchmarks that make no query, the first {}", name, shapeless_names, to_text(*shapeless)));
  return out;
}

}  // namespace stepcast::calibrate
