// stepcast calibrate served: what benchmarks of serving engines wrote, as records of inference that validate and
// calibrate engines read. What the files do not say is asked for by flags.
#include <cmath>
#include <filesystem>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/serving/read_benchmarks.h"
#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/served.h"
#include "studies/cli/output_file.h"
#include "studies/engines/checkpoint.h"
#include "studies/print/table.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

std::int64_t groups_told(const Arguments& arguments, const char* flag, std::int64_t absent) {
  return arguments.has(flag) ? parsed_number<std::int64_t>(arguments.value(flag)).value_or(absent) : absent;
}

bool is_served_file(const std::string& name) { return file_holds(name, "\"workload\""); }

/// A value that a flag tells, or the file; both with different ones are a mistake.
template <class Value>
Expected<std::optional<Value>> told(
    const Arguments& arguments, const char* flag, const std::optional<Value>& said, const std::string& where) {
  if (!arguments.has(flag)) return said;
  const auto value = parsed_number<Value>(arguments.value(flag));
  if (!value) return fail(flag, fmt::format("'{:.40}' is no number", arguments.value(flag)), "a number");
  // Means of lengths hold what a chat template adds.
  constexpr double alike = std::is_floating_point_v<Value> ? 0.02 : 0;
  if (said && std::abs(static_cast<double>(*value - *said)) > alike * static_cast<double>(*said))
    return fail(flag, fmt::format("{} here, and {} in {}", *value, *said, where), "one of them: without the flag");
  return value;
}

Expected<std::string> model_of(const Arguments& arguments, const BenchmarkOutput& output, const std::string& where) {
  if (arguments.has("--model")) return arguments.value("--model");
  if (output.model.empty()) return fail(where, "it does not tell the model", "--model ID");
  const auto checkpoint = checkpoint_of(output.model);
  if (checkpoint.network.empty())
    return fail(where, fmt::format("its model {:.80} is no network of the catalogue", output.model), "--model ID");
  return checkpoint.network;
}

Expected<NumberTypes> types_of(const Arguments& arguments, const BenchmarkOutput& output) {
  EngineSettings said;
  said.model = output.model, said.quantization = output.weights, said.cache = output.cache;
  if (said.quantization == "bfloat16" || said.quantization == "float16" || lower_case(said.quantization) == "none")
    said.dtype = said.quantization == "float16" ? "float16" : "", said.quantization.clear();
  const NumberTypes flags{arguments.value("--weights"), arguments.value("--kv"), {}};
  return number_types_of(said, checkpoint_of(output.model), {output.engine, arguments.value("--release")}, flags);
}

Expected<void> settle_engine(const Arguments& arguments, const BenchmarkOutput& output, ServedRecord& out) {
  out.engine = arguments.has("--engine") ? arguments.value("--engine") : output.engine;
  if (out.engine.empty())
    return fail(out.id, fmt::format("{} loads any engine, and none is told", output.tool),
        "--engine vllm, sglang or tensorrt-llm");
  TRY(run::choose_engine(out.engine, "--engine"));
  out.version = arguments.value("--release");
  if (out.version.empty() && !out.engine.starts_with("sglang"))
    return fail("--release", fmt::format("which release of {} it was is not told, and they differ", out.engine),
        "--release 0.10");
  return {};
}

Expected<void> settle_load(const Arguments& arguments, const BenchmarkOutput& output, ServedRecord& out) {
  TRY(out.concurrency, told(arguments, "--concurrency", output.concurrency, out.id));
  TRY(out.rate, told(arguments, "--rate", output.rate, out.id));
  TRY(out.input, told(arguments, "--input", output.input, out.id));
  TRY(out.output, told(arguments, "--output-tokens", output.output, out.id));
  out.requests = output.requests;
  if (!out.input || !out.output)
    return fail(out.id, "it does not tell how long prompts and answers were", "--input N and --output-tokens N");
  if (out.concurrency && out.rate) return fail(out.id, "users and a rate, at once", "a run that has one of them");
  const bool at_once = !out.concurrency && !out.rate;
  if (at_once && output.tool != "trtllm-bench" && output.tool != "vllm bench" && output.tool != "sglang bench")
    return fail(out.id, "it does not tell how many requests came at once", "--concurrency N, or --rate PER_S");
  out.phase = at_once ? "offline_throughput" : "serving";
  return {};
}

Expected<ServedRecord> record_of(const Arguments& arguments, const BenchmarkOutput& output, const std::string& id) {
  ServedRecord out;
  out.id = id;
  TRY(out.model, model_of(arguments, output, id));
  TRY(run::choose_network(out.model, "--model"));
  if (!arguments.has("--machine"))
    return fail("--machine", "no benchmark tells which GPUs it ran on", "--machine dgx-h100");
  TRY(const auto machine, run::choose_machine(arguments.value("--machine"), "--machine"));
  out.machine = machine.row.id;
  TRY(settle_engine(arguments, output, out));
  TRY(const auto types, types_of(arguments, output));
  out.weights = types.weights, out.cache = types.cache;
  for (const auto& [flag, said, value] : {std::tuple{"--tp", &output.tp, &out.tp},
           std::tuple{"--pp", &output.pp, &out.pp}, std::tuple{"--ep", &output.ep, &out.ep}}) {
    TRY(const auto size, told(arguments, flag, *said, id));
    *value = size.value_or(1);
  }
  if (!output.tp && !arguments.has("--tp"))
    return fail("--tp", "it does not tell on how many ranks the engine was", "--tp 8, and --pp, --ep, --dp-attention");
  out.groups = groups_told(arguments, "--dp-attention", 1);
  // TensorRT-LLM's groups lie inside its tensor ranks (enable_attention_dp).
  if (output.tool == "trtllm-bench" && output.tp && out.tp % out.groups == 0) out.tp /= out.groups;
  if (const std::int64_t ranks = out.tp * out.pp * out.groups; output.gpus && *output.gpus != ranks)
    return fail(arguments.has("--dp-attention") ? "--dp-attention"
                : arguments.has("--tp")         ? "--tp"
                                                : "--pp",
        fmt::format("an engine of {} ranks, and {} tells {} GPUs", ranks, id, *output.gpus),
        "--tp x --pp x --dp-attention as the file says");
  if (out.tp * out.groups % out.ep != 0)
    return fail("--ep", fmt::format("experts on {} ranks of {}", out.ep, out.tp * out.groups),
        "a divisor of tp x dp-attention");
  out.most_sequences = output.most_sequences, out.most_positions = output.most_positions;
  TRY(settle_load(arguments, output, out));
  out.measured = output.measured;
  out.tool = output.tool, out.date = output.date, out.notes = output.notes;
  return out;
}

std::string short_text(const std::vector<ServedRecord>& records) {
  print::Table table({{"record"}, {"phase"}, {"load"}, {"prompt", print::Align::right}, {"output", print::Align::right},
      {"TPOT ms", print::Align::right}, {"tokens/s", print::Align::right}});
  const auto figure = [](const ServedRecord& record, const char* name) {
    const auto found = record.measured.find(name);
    return found == record.measured.end() ? std::string("-") : fmt::format("{:.4g}", found->second);
  };
  for (const ServedRecord& record : records) {
    const std::string load = record.concurrency ? fmt::format("{} users", *record.concurrency)
                             : record.rate      ? fmt::format("{:.3g} requests/s", *record.rate)
                                                : "all at once";
    table.add({record.id, record.phase, load, fmt::format("{:.0f}", *record.input),
        fmt::format("{:.0f}", *record.output), figure(record, "tpot_ms"), figure(record, "output_tokens_per_s")});
  }
  return table.text("");
}

}  // namespace

std::string served_records_json(const std::vector<ServedRecord>& records) {
  JsonWriter json;
  json.open_list();
  for (const ServedRecord& r : records) {
    json.open();
    json.fields("id", r.id, "phase", r.phase);
    json.object("model", "id", r.model);
    json.object("hardware", "gpu", r.machine, "count", r.tp * r.pp * r.groups);
    json.object("software", "name", r.engine, "version", r.version);
    json.object("precision", "weights", r.weights, "kv_cache", r.cache);
    json.object("parallel", "tp", r.tp, "pp", r.pp, "ep", r.ep, "dp_attention", r.groups);
    json.open("workload");
    json.fields("isl", *r.input, "osl", *r.output);
    if (r.concurrency) json.field("concurrency", *r.concurrency);
    if (r.rate) json.field("request_rate", *r.rate);
    if (r.requests) json.field("num_requests", *r.requests);
    if (r.most_sequences) json.field("max_num_seqs", *r.most_sequences);
    if (r.most_positions) json.field("max_num_batched_tokens", *r.most_positions);
    json.close();
    json.open("measured");
    for (const auto& [name, value] : r.measured) json.field(name, value);
    json.close();
    json.object("source", "kind", r.tool, "date", r.date);
    json.field("notes", fmt::format("{}", fmt::join(r.notes, "; ")));
    json.close();
  }
  json.close();
  return json.text() + "\n";
}

Expected<std::vector<ServedRecord>> served_records(const Arguments& arguments) {
  std::vector<ServedRecord> records;
  std::set<std::filesystem::path> files;
  for (const std::string& word : arguments.words) {
    if (std::error_code none; !files.insert(std::filesystem::weakly_canonical(word, none)).second)
      return fail(word, "the same file twice: its runs would count twice", "each file once");
    TRY(const auto text, read_text_file(word));
    TRY(const auto outputs, read_benchmark_output(text, word));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string id = outputs.size() == 1 ? word : fmt::format("{}:{}", word, i + 1);
      TRY(auto record, record_of(arguments, outputs[i], id));
      records.push_back(std::move(record));
    }
  }
  return records;
}

Expected<void> calibrate_served(const Arguments& arguments, Console& console) {
  TRY(const auto records, served_records(arguments));
  const std::string json = served_records_json(records);
  if (arguments.has("--output")) {
    TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_served_file)));
    output.finish(json);
  }
  console.out << (arguments.has("--json") ? json : short_text(records));
  return {};
}

}  // namespace stepcast::calibration
