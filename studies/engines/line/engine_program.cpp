#include "studies/engines/line/engine_program.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "studies/engines/embedded_engine_arguments.h"

namespace stepcast::engines {
namespace {

constexpr std::string_view other_measure = "it times an engine without a server, as no forecast here does";

// clang-format off
constexpr EngineProgram program_rows[] = {
    {.words = "vllm.entrypoints.openai.api_server", .name = "vLLM", .table = "vllm", .engine = "vllm",
     .first = "model", .file = "config"},
    {.words = "api_server.py", .name = "vLLM", .table = "vllm", .engine = "vllm", .first = "model", .file = "config"},
    {.words = "vllm.entrypoints.api_server", .name = "vLLM", .table = "vllm", .engine = "vllm", .first = "model",
     .file = "config"},
    {.words = "vllm bench throughput", .name = "vllm bench throughput", .table = "vllm-offline", .engine = "vllm",
     .loads = true, .file = "config"},
    {.words = "vllm bench latency", .name = "vllm bench latency", .table = "vllm-offline", .engine = "vllm",
     .loads = true, .file = "config"},
    {.words = "vllm bench serve", .name = "vllm bench serve", .table = "vllm-bench", .engine = "", .loads = true},
    {.words = "vllm serve", .name = "vLLM", .table = "vllm", .engine = "vllm", .first = "model", .file = "config"},
    {.words = "benchmark_throughput.py", .name = "benchmark_throughput.py", .table = "vllm-offline", .engine = "vllm",
     .loads = true},
    {.words = "benchmark_latency.py", .name = "benchmark_latency.py", .table = "vllm-offline", .engine = "vllm",
     .loads = true},
    {.words = "benchmark_serving.py", .name = "benchmark_serving.py", .table = "vllm-bench", .engine = "",
     .loads = true},
    {.words = "tensorrt_llm.serve.scripts.benchmark_serving", .name = "TensorRT-LLM's benchmark_serving",
     .table = "vllm-bench", .engine = "", .loads = true},
    {.words = "sglang.launch_server", .name = "SGLang", .table = "sglang", .engine = "sglang", .file = "config"},
    {.words = "sglang serve", .name = "SGLang", .table = "sglang", .engine = "sglang", .first = "model_path",
     .file = "config"},
    {.words = "sglang.bench_serving", .name = "sglang.bench_serving", .table = "sglang-bench", .engine = "",
     .loads = true},
    {.words = "sglang.bench_one_batch_server", .name = "sglang.bench_one_batch_server", .table = "sglang",
     .engine = "sglang", .refused = other_measure},
    {.words = "sglang.bench_one_batch", .name = "sglang.bench_one_batch", .table = "sglang", .engine = "sglang",
     .refused = other_measure},
    {.words = "sglang.bench_offline_throughput", .name = "sglang.bench_offline_throughput", .table = "sglang",
     .engine = "sglang", .refused = other_measure},
    {.words = "sglang_router.launch_server", .name = "SGLang's router", .table = "sglang", .engine = "sglang",
     .refused = "a router that starts servers has options of its own; say --replicas and the server's line"},
    {.words = "trtllm-serve disaggregated_mpi_worker", .name = "TensorRT-LLM", .table = "tensorrt-llm",
     .engine = "tensorrt-llm", .starts_pools = true},
    {.words = "trtllm-serve disaggregated", .name = "TensorRT-LLM", .table = "tensorrt-llm", .engine = "tensorrt-llm",
     .starts_pools = true},
    {.words = "trtllm-serve serve", .name = "TensorRT-LLM", .table = "tensorrt-llm", .engine = "tensorrt-llm",
     .first = "model", .file = "config", .file_wins = true},
    {.words = "trtllm-serve", .name = "TensorRT-LLM", .table = "tensorrt-llm", .engine = "tensorrt-llm",
     .first = "model", .file = "config", .file_wins = true},
    {.words = "trtllm-bench", .name = "trtllm-bench", .table = "trtllm-bench", .engine = "tensorrt-llm", .loads = true,
     .first = "subcommand", .file = "config", .file_wins = true},
    {.words = "prepare_dataset.py", .name = "TensorRT-LLM's prepare_dataset", .table = "", .engine = "",
     .writes_requests = true},
    {.words = "genai-perf profile", .name = "GenAI-Perf", .table = "genai-perf", .engine = "", .loads = true},
    {.words = "aiperf profile", .name = "AIPerf", .table = "aiperf", .engine = "", .loads = true},
    // before prompts' and tokens' pools that others start: sgl-project/sglang docs/advanced_features/pd_disaggregation.md,
    // vllm-project/vllm tests/v1/kv_connector/nixl_integration and examples/online_serving, vllm-project/router
    {.words = "sglang_router.launch_router", .name = "SGLang's router", .table = "", .engine = "",
     .prompts_at = "--prefill", .tokens_at = "--decode"},
    {.words = "sglang.srt.disaggregation.mini_lb", .name = "SGLang's balancer", .table = "", .engine = "",
     .prompts_at = "--prefill", .tokens_at = "--decode"},
    {.words = "toy_proxy_server.py", .name = "vLLM's proxy", .table = "", .engine = "",
     .prompts_at = "--prefiller-ports", .tokens_at = "--decoder-ports"},
    {.words = "disagg_proxy_demo.py", .name = "vLLM's proxy", .table = "", .engine = "",
     .prompts_at = "--prefill", .tokens_at = "--decode"},
    {.words = "vllm-router", .name = "vLLM's router", .table = "", .engine = "",
     .prompts_at = "--prefill", .tokens_at = "--decode"},
    {.words = "dynamo.vllm", .name = "Dynamo's vLLM", .table = "dynamo-vllm", .engine = "vllm"},
    {.words = "dynamo.sglang", .name = "Dynamo's SGLang", .table = "dynamo-sglang", .engine = "sglang",
     .file = "config"},
    {.words = "dynamo.sglang.worker", .name = "Dynamo's SGLang", .table = "dynamo-sglang", .engine = "sglang",
     .file = "config"},
    {.words = "dynamo.sglang.decode_worker", .name = "Dynamo's SGLang", .table = "dynamo-sglang", .engine = "sglang",
     .file = "config"},
    {.words = "dynamo.trtllm", .name = "Dynamo's TensorRT-LLM", .table = "dynamo-trtllm", .engine = "tensorrt-llm",
     .file = "config", .file_wins = true, .over = "override_engine_args"},
    {.words = "huggingfaceserver", .name = "KServe's huggingface server", .table = "kserve-huggingface",
     .engine = "vllm"},
};
// clang-format on

launch::ArgumentTables read_tables() { return carried(launch::read_argument_tables(embedded_engine_arguments())); }

}  // namespace

std::span<const EngineProgram> engine_programs() { return program_rows; }

std::string release_of_image(std::string_view image) {
  // docker.io/vllm and docker.io/lmsysorg, also as others name what they build on them (aibrix/llmd-vllm-openai);
  // nvcr.io/nvidia/tensorrt-llm. Dynamo's images have Dynamo's release.
  constexpr std::string_view names[] = {"vllm-openai:", "vllm-openai-rocm:", "sglang:", "tensorrt-llm/release:"};
  for (const std::string_view name : names) {
    const std::size_t at = image.rfind(name);
    const bool own = at == 0 || (at != image.npos && image[at - 1] == '/');
    if (at == image.npos || (!own && !(image[at - 1] == '-' && name.starts_with("vllm-openai")))) continue;
    image.remove_prefix(at + name.size());
    if (image.starts_with('v')) image.remove_prefix(1);
    return !image.empty() && image[0] >= '0' && image[0] <= '9' ? std::string(image.substr(0, image.find('@'))) : "";
  }
  return "";
}

const EngineProgram* program_of_image(std::string_view image) {
  image.remove_prefix(image.find_last_of('/') + 1);  // npos + 1 is 0
  const std::string_view name = image.substr(0, image.find_first_of(":@"));
  if (name != "vllm-openai" && name != "vllm-openai-rocm") return nullptr;
  return std::ranges::find(program_rows, std::string_view("vllm serve"), &EngineProgram::words);
}

const launch::ArgumentTable& engine_table(std::string_view table) {
  static const launch::ArgumentTables tables = read_tables();
  static const launch::ArgumentTable none;
  const auto found = tables.find(table);
  return found == tables.end() ? none : found->second;
}

const launch::ArgumentFact* fact_of(const launch::ArgumentTable& table, std::string_view name) {
  // The table also takes a name by its last part alone, as sections of training frameworks need it: here a
  // "kv_cache_config.dtype" is no "dtype".
  const auto whole = [&](const std::string& wanted) -> const launch::ArgumentFact* {
    const launch::ArgumentFact* fact = table.find(wanted);
    return fact != nullptr && fact->name == wanted ? fact : nullptr;
  };
  if (const launch::ArgumentFact* fact = whole(std::string(name))) return fact;
  for (std::size_t dot = name.rfind('.'); dot != name.npos && dot > 0; dot = name.rfind('.', dot - 1))
    if (const launch::ArgumentFact* fact = whole(fmt::format("{}.*", name.substr(0, dot)))) return fact;
  return nullptr;
}

std::string_view counted_name(const launch::ArgumentTable& table, std::string_view name) {
  const launch::ArgumentFact* fact = fact_of(table, name);
  // One that another took the place of has an end; another name has none.
  return fact == nullptr || fact->instead.empty() || !fact->until.empty() ? name : std::string_view(fact->instead);
}

}  // namespace stepcast::engines
