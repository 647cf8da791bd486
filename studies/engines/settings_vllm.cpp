// vLLM: vllm/engine/arg_utils.py and docs/serving/data_parallel_deployment.md. Data ranks of a network with experts
// form one group of tensor x data ranks over which the experts lie; other networks stand beside each other.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/settings.h"

namespace stepcast::engines {
namespace {

/// vllm/config/parallel.py, all2all_backend.
struct ExchangeName {
  std::string_view name, exchange;
};
constexpr std::array exchanges = {ExchangeName{"naive", "gather"}, ExchangeName{"allgather_reducescatter", "gather"},
    ExchangeName{"pplx", "rows"}, ExchangeName{"deepep_high_throughput", "rows"},
    ExchangeName{"deepep_low_latency", "rows"}, ExchangeName{"mori", "rows"}, ExchangeName{"nixl_ep", "rows"},
    ExchangeName{"flashinfer_all2allv", "rows"}, ExchangeName{"flashinfer_nvlink_one_sided", "rows"},
    ExchangeName{"flashinfer_nvlink_two_sided", "rows"}};

Expected<void> read_vllm_exchange(SaidArguments& said, EngineSettings& out) {
  const auto name = said.text("all2all_backend");
  if (!name) return {};
  TRY(out.exchange, vllm_exchange(*name, place_of_argument(said, *said.find("all2all_backend"))));
  return {};
}

/// Levels 0 to 3, "NONE", "FULL", ... of several names.
Expected<void> read_vllm_graphs(SaidArguments& said, EngineSettings& out) {
  TRY(const auto eager, said.flag("enforce_eager"));
  if (eager && *eager) out.captured = false;
  for (const char* name : {"compilation_config", "optimization_level"})
    if (said.text(name) == "0") out.captured = false;
  // -O0 and level 0 of older releases turn compilation off; mode alone keeps graphs (vllm/config/compilation.py).
  said.find("compilation_config.mode"), said.find("compilation_config.level");
  if (const auto mode = said.text("compilation_config.cudagraph_mode"))
    if (lower_case(*mode) == "none" || *mode == "0") out.captured = false;
  TRY(const auto used, said.flag("compilation_config.use_cudagraph"));
  if (used && !*used) out.captured = false;
  for (const char* name :
      {"compilation_config.cudagraph_capture_sizes", "cudagraph_capture_sizes", "cuda_graph_sizes"}) {
    TRY(const auto largest, largest_of(said, name));
    if (largest) out.most_captured = largest;
  }
  for (const char* name : {"compilation_config.max_cudagraph_capture_size", "max_cudagraph_capture_size"}) {
    TRY(const auto most, said.count(name));
    if (most) out.most_captured = most;
  }
  return {};
}

/// vLLM does not start with fewer positions in an iteration than sequences, or than the longest one where prompts are
/// not cut (vllm/config/scheduler.py: ValueError).
Expected<void> check_vllm_positions(SaidArguments& said, const EngineSettings& s) {
  if (!s.most_positions) return {};
  const std::string where = place_of_argument(said, *said.find("max_num_batched_tokens"));
  if (s.most_sequences && *s.most_positions < *s.most_sequences)
    return fail(where,
        fmt::format("{} positions of an iteration for {} sequences: vLLM does not start with fewer positions",
            *s.most_positions, *s.most_sequences),
        "--max-num-batched-tokens of --max-num-seqs or more");
  if (s.whole_prompts.value_or(false) && s.longest && *s.most_positions < *s.longest)
    return fail(where,
        fmt::format("{} positions of an iteration, and requests of {} are not cut: vLLM does not start so",
            *s.most_positions, *s.longest),
        "--max-num-batched-tokens of --max-model-len or more, or --enable-chunked-prefill");
  return {};
}

Expected<void> read_vllm_batching(SaidArguments& said, EngineSettings& out) {
  TRY(out.most_sequences, said.count("max_num_seqs"));
  TRY(out.most_positions, said.count("max_num_batched_tokens"));
  TRY(out.block, said.count("block_size"));
  TRY(out.memory_share, said.number("gpu_memory_utilization"));
  TRY(out.prefixes, said.flag("enable_prefix_caching"));
  TRY(const auto pieces, said.flag("enable_chunked_prefill"));
  if (pieces) out.whole_prompts = !*pieces;
  if (pieces && *pieces) out.prompts_apart = false;  // V0 has them apart else
  TRY(out.swap_space, said.number("swap_space"));
  if (const auto mode = said.text("preemption_mode")) {
    if (*mode != "swap" && *mode != "recompute")
      return fail(place_of_argument(said, *said.find("preemption_mode")),
          fmt::format("unknown preemption mode '{:.40}'", *mode), "swap or recompute");
    out.swaps = *mode == "swap";
  }
  const auto longest = said.text("max_model_len");
  out.longest_fits = longest == "auto" || longest == "-1";
  if (longest && !out.longest_fits) {
    TRY(out.longest, said.count("max_model_len"));
  }
  return check_vllm_positions(said, out);
}

Expected<void> read_vllm_guesses(SaidArguments& said, EngineSettings& out) {
  said.find("speculative_config"), said.find("speculative_config.draft_tensor_parallel_size");
  TRY(const auto words, said.count("speculative_config.num_speculative_tokens"));
  const auto method = said.text("speculative_config.method");
  const auto model = said.text("speculative_config.model");
  if (!words && !method && !model) return {};
  out.guesser = method.value_or("draft_model");
  out.draft = words.value_or(0);
  return {};
}

}  // namespace

Expected<std::string> vllm_exchange(const std::string& name, const std::string& where) {
  const auto row = std::ranges::find(exchanges, std::string_view(name), &ExchangeName::name);
  if (row == exchanges.end())
    return fail(where, fmt::format("unknown exchange '{:.40}'", name),
        name_hint(name, names_of(exchanges, &ExchangeName::name)));
  return std::string(row->exchange);
}

Expected<void> vllm_settings(SaidArguments& said, EngineSettings& out) {
  TRY(out.tp, size_of(said, "tensor_parallel_size"));
  TRY(out.pp, size_of(said, "pipeline_parallel_size"));
  TRY(out.groups, size_of(said, "data_parallel_size"));
  TRY(out.cache_over, size_of(said, "decode_context_parallel_size"));
  out.groups_or_copies = true;
  TRY(const auto whole, said.flag("enable_expert_parallel"));
  out.experts_over_all = whole.value_or(false);
  for (const char* name : {"num_redundant_experts", "eplb_config.num_redundant_experts"}) {
    TRY(const auto copies, said.count(name));
    if (copies) out.spare_experts = *copies;
  }
  TRY(read_vllm_exchange(said, out));
  TRY(read_vllm_batching(said, out));
  TRY(read_vllm_graphs(said, out));
  return read_vllm_guesses(said, out);
}

}  // namespace stepcast::engines
