// Keys: vllm/benchmarks/serve.py (result_json), python/sglang/bench_serving.py (result),
// tensorrt_llm/bench/dataclasses/ reporting.py (get_statistics_dict), genai-perf's and aiperf's JSON exporters.
#include "calibrate/import/serving/benchmark_json.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;

/// Nested keys by a dot: "performance.system_output_throughput_tok_s".
const Json* at(const Json& object, std::string_view path) {
  const Json* current = &object;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = current->is_object() ? current->find(std::string(path.substr(0, dot))) : current->end();
    if (!current->is_object() || found == current->end()) return nullptr;
    current = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return current;
}
std::string word_at(const Json& object, std::string_view path) {
  const Json* found = at(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}
/// A number, also as text ("inf" is none). Nothing where it is not there, null or infinite.
std::optional<double> number_at(const Json& object, std::string_view path) {
  const Json* found = at(object, path);
  if (found == nullptr) return std::nullopt;
  if (found->is_number()) {
    const auto value = found->get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  const auto value = found->is_string() ? parsed_number<double>(found->get<std::string>()) : std::nullopt;
  return value && std::isfinite(*value) ? value : std::nullopt;
}
std::optional<std::int64_t> count_at(const Json& object, std::string_view path) {
  const auto value = number_at(object, path);
  return value && std::abs(*value) < 1e15 ? std::optional(static_cast<std::int64_t>(std::llround(*value)))
                                          : std::nullopt;
}

/// A figure by its key in a file, and what one unit of it is in ours.
struct FigureKey {
  const char *path, *name;
  double factor = 1;
};

Expected<void> read_figures(
    const Json& object, std::span<const FigureKey> keys, const std::string& where, BenchmarkOutput& out) {
  for (const FigureKey& key : keys) {
    const Json* found = at(object, key.path);
    if (found == nullptr || found->is_null()) continue;
    const auto value = number_at(object, key.path);
    if (!value) return fail(fmt::format("{}:/{}", where, key.path), "no number", "a number above 0");
    out.measured[key.name] = *value * key.factor;
  }
  return {};
}

/// vLLM's and SGLang's clients have the same names.
constexpr std::array serve_figures = {FigureKey{"mean_ttft_ms", "ttft_ms"}, FigureKey{"median_ttft_ms", "ttft_p50_ms"},
    FigureKey{"p99_ttft_ms", "ttft_p99_ms"}, FigureKey{"mean_tpot_ms", "tpot_ms"},
    FigureKey{"median_tpot_ms", "tpot_p50_ms"}, FigureKey{"p99_tpot_ms", "tpot_p99_ms"},
    FigureKey{"mean_itl_ms", "itl_ms"}, FigureKey{"median_itl_ms", "itl_p50_ms"}, FigureKey{"p99_itl_ms", "itl_p99_ms"},
    FigureKey{"mean_e2el_ms", "e2e_ms"}, FigureKey{"mean_e2e_latency_ms", "e2e_ms"},
    FigureKey{"p99_e2el_ms", "e2e_p99_ms"}, FigureKey{"output_throughput", "output_tokens_per_s"},
    FigureKey{"request_throughput", "requests_per_s"}};

Expected<BenchmarkOutput> of_serve(const Json& object, const std::string& where) {
  BenchmarkOutput out;
  const bool sglang = at(object, "random_range_ratio") != nullptr || at(object, "sharegpt_output_len") != nullptr ||
                      word_at(object, "backend").starts_with("sglang");
  out.tool = sglang ? "sglang bench" : "vllm bench";
  out.model = word_at(object, "model_id");
  if (out.model.empty()) out.model = word_at(object, "model");
  out.date = word_at(object, "date");
  // its client loads any engine, and says by which protocol
  const std::string backend = word_at(object, "backend");
  if (backend == "vllm" || backend.starts_with("sglang") || backend == "trt")
    out.engine = backend.starts_with("sglang") ? "sglang" : backend == "trt" ? "tensorrt-llm" : "vllm";
  TRY(read_figures(object, serve_figures, where, out));
  const auto completed = count_at(object, "completed"), prompts = count_at(object, "num_prompts"),
             failed = count_at(object, "failed");
  if ((failed && *failed > 0) || (completed && prompts && *completed < *prompts))
    return fail(where,
        fmt::format("{} of {} requests ended", completed.value_or(0),
            prompts.value_or(completed.value_or(0) + failed.value_or(0))),
        "a run in which none failed: the others had another load");
  out.requests = completed ? completed : prompts;
  out.concurrency = count_at(object, "max_concurrency");
  out.rate = number_at(object, "request_rate");
  if (out.rate && *out.rate <= 0) out.rate.reset();
  const auto input = number_at(object, "total_input_tokens"), output = number_at(object, "total_output_tokens");
  if (out.requests && *out.requests > 0) {
    if (input) out.input = *input / static_cast<double>(*out.requests);
    if (output) out.output = *output / static_cast<double>(*out.requests);
  }
  return out;
}

constexpr std::array trtllm_figures = {FigureKey{"performance.system_output_throughput_tok_s", "output_tokens_per_s"},
    FigureKey{"performance.output_throughput_per_gpu_tok_s", "output_tokens_per_s_per_gpu"},
    FigureKey{"performance.request_throughput_req_s", "requests_per_s"},
    FigureKey{"performance.avg_request_latency_ms", "e2e_ms"}, FigureKey{"streaming_metrics.avg_ttft_ms", "ttft_ms"},
    FigureKey{"streaming_metrics.avg_tpot_ms", "tpot_ms"}};

Expected<BenchmarkOutput> of_trtllm(const Json& object, const std::string& where) {
  BenchmarkOutput out;
  out.tool = "trtllm-bench", out.engine = "tensorrt-llm";
  out.model = word_at(object, "engine.model");
  out.weights = word_at(object, "engine.quantization"), out.cache = word_at(object, "engine.kv_cache_dtype");
  if (out.weights.empty()) out.weights = word_at(object, "engine.dtype");
  TRY(read_figures(object, trtllm_figures, where, out));
  for (const auto& [path, value] : {std::pair{"world_info.tp_size", &out.tp}, std::pair{"world_info.pp_size", &out.pp},
           std::pair{"world_info.ep_size", &out.ep}, std::pair{"world_info.world_size", &out.gpus},
           std::pair{"world_info.max_batch_size", &out.most_sequences},
           std::pair{"world_info.max_num_tokens", &out.most_positions},
           std::pair{"request_info.num_requests", &out.requests}})
    *value = count_at(object, path);
  out.input = number_at(object, "request_info.avg_input_length");
  out.output = number_at(object, "request_info.avg_output_length");
  const auto together = number_at(object, "request_info.avg_num_concurrent_requests");
  if (together) out.notes.push_back(fmt::format("{:.1f} requests ran at once in the mean", *together));
  return out;
}

constexpr std::array perf_figures = {FigureKey{"time_to_first_token.avg", "ttft_ms"},
    FigureKey{"time_to_first_token.p50", "ttft_p50_ms"}, FigureKey{"time_to_first_token.p99", "ttft_p99_ms"},
    FigureKey{"inter_token_latency.avg", "tpot_ms"}, FigureKey{"inter_token_latency.p50", "tpot_p50_ms"},
    FigureKey{"inter_token_latency.p99", "tpot_p99_ms"}, FigureKey{"request_latency.avg", "e2e_ms"},
    FigureKey{"request_latency.p99", "e2e_p99_ms"}, FigureKey{"output_token_throughput.avg", "output_tokens_per_s"},
    FigureKey{"request_throughput.avg", "requests_per_s"}};

/// Where either tool keeps what it was told.
constexpr std::array concurrency_paths = {"input_config.loadgen.concurrency",
    "input_config.perf_analyzer.stimulus.concurrency", "input_config.stimulus.concurrency", "input_config.concurrency"};
constexpr std::array rate_paths = {"input_config.loadgen.request_rate",
    "input_config.perf_analyzer.stimulus.request_rate", "input_config.stimulus.request_rate",
    "input_config.request_rate"};

std::string model_of(const Json& object) {
  for (const char* path : {"input_config.endpoint.model_names", "input_config.model_names", "input_config.model"}) {
    const Json* found = at(object, path);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
    if (found != nullptr && found->is_array() && found->size() == 1 && found->front().is_string())
      return found->front().get<std::string>();
  }
  return {};
}

Expected<BenchmarkOutput> of_perf(const Json& object, const std::string& where) {
  BenchmarkOutput out;
  out.tool = at(object, "input_config.loadgen") != nullptr || at(object, "aiperf_version") != nullptr ? "aiperf"
                                                                                                      : "genai-perf";
  out.model = model_of(object);
  for (const char* latency : {"time_to_first_token", "inter_token_latency", "request_latency"}) {
    const std::string unit = word_at(object, fmt::format("{}.unit", latency));
    if (!unit.empty() && unit != "ms")
      return fail(fmt::format("{}:/{}/unit", where, latency), fmt::format("'{:.20}' is not expected", unit), "ms");
  }
  TRY(read_figures(object, perf_figures, where, out));
  const auto errors = number_at(object, "error_request_count.avg");
  if (errors && *errors > 0)
    return fail(where, fmt::format("{} requests failed", *errors), "a run in which none failed");
  for (const char* path : concurrency_paths)
    if (!out.concurrency) out.concurrency = count_at(object, path);
  for (const char* path : rate_paths)
    if (!out.rate) out.rate = number_at(object, path);
  if (out.rate) out.concurrency.reset();
  out.requests = count_at(object, "request_count.avg");
  out.input = number_at(object, "input_sequence_length.avg"),
  out.output = number_at(object, "output_sequence_length.avg");
  return out;
}

}  // namespace

Expected<BenchmarkOutput> benchmark_of_json(const Json& object, const std::string& where) {
  if (!object.is_object()) return fail(where, "no object", "the figures of a run");
  if (at(object, "performance.system_output_throughput_tok_s") != nullptr) return of_trtllm(object, where);
  const Json* rate = at(object, "request_throughput");
  if (rate != nullptr && rate->is_object()) return of_perf(object, where);
  if (rate != nullptr && (at(object, "mean_ttft_ms") != nullptr || at(object, "completed") != nullptr))
    return of_serve(object, where);
  return fail(where, "an object of no benchmark that is known",
      "vllm bench serve --save-result, sglang.bench_serving --output-file, trtllm-bench --report_json, GenAI-Perf, "
      "AIPerf");
}

}  // namespace stepcast::calibrate
