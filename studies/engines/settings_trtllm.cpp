// TensorRT-LLM: tensorrt_llm/llmapi/llm_args.py and tensorrt_llm/commands/serve.py. With enable_attention_dp every
// tensor rank has sequences of its own; ranks of a stage are moe_tensor_parallel_size x moe_expert_parallel_size for
// experts.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/settings.h"

namespace stepcast::engines {
namespace {

Expected<void> read_trtllm_split(SaidArguments& said, EngineSettings& out) {
  TRY(out.tp, size_of(said, "tensor_parallel_size"));
  TRY(out.pp, size_of(said, "pipeline_parallel_size"));
  TRY(out.layers, whole_numbers_of(said, "pp_partition"));
  const std::int64_t ranks = out.tp;
  TRY(const auto own, said.flag("enable_attention_dp"));
  if (own.value_or(false)) out.groups = ranks, out.tp = 1;
  TRY(const auto over, said.count("moe_expert_parallel_size"));
  TRY(const auto parts, said.count("moe_tensor_parallel_size"));
  if (over && *over > 0) out.experts_over = *over;
  if (parts && *parts > 0) {
    if (ranks % *parts != 0 || (over && *over > 0 && *over * *parts != ranks))
      return fail(place_of_argument(said, *said.find("moe_tensor_parallel_size")),
          fmt::format(
              "experts in {} parts over {} ranks, of {} tensor ranks", *parts, over.value_or(ranks / *parts), ranks),
          "parts x ranks = tensor ranks");
    out.experts_over = ranks / *parts;
  }
  return {};
}

Expected<void> read_trtllm_batching(SaidArguments& said, EngineSettings& out) {
  TRY(out.most_sequences, said.count("max_batch_size"));
  TRY(out.most_positions, said.count("max_num_tokens"));
  TRY(out.longest, said.count("max_seq_len"));
  TRY(out.memory_share, said.number("free_gpu_memory_fraction"));
  TRY(out.prefixes, said.flag("kv_cache_config.enable_block_reuse"));
  TRY(out.block, said.count("kv_cache_config.tokens_per_block"));
  TRY(out.windows, whole_numbers_of(said, "kv_cache_config.max_attention_window"));
  TRY(const auto after, said.flag("disable_overlap_scheduler"));
  if (after && *after) {
    out.plans_ahead = false;
    out.notes.emplace_back(
        "iterations are not planned ahead; the host's time was fitted on loads of engines that plan ahead");
  }
  TRY(const auto pieces, said.flag("enable_chunked_prefill"));
  if (pieces) out.whole_prompts = !*pieces;
  if (const auto policy = said.text("scheduler_config.capacity_scheduler_policy")) {
    const std::string name = lower_case(*policy);
    if (name != "guaranteed_no_evict" && name != "max_utilization")
      return fail(place_of_argument(said, *said.find("scheduler_config.capacity_scheduler_policy")),
          fmt::format("policy '{:.40}' is not forecast", *policy), "GUARANTEED_NO_EVICT or MAX_UTILIZATION");
    out.reserves_all = name == "guaranteed_no_evict";
  }
  return {};
}

Expected<void> read_trtllm_graphs(SaidArguments& said, EngineSettings& out) {
  if (const auto whole = said.text("cuda_graph_config"); whole && (*whole == "null" || *whole == "None"))
    out.captured = false;
  TRY(const auto used, said.flag("use_cuda_graph"));
  if (used) out.captured = *used;
  for (const char* name : {"cuda_graph_config.batch_sizes", "cuda_graph_batch_sizes"}) {
    TRY(const auto largest, largest_of(said, name));
    if (largest) out.most_captured = largest;
  }
  for (const char* name : {"cuda_graph_config.max_batch_size", "cuda_graph_max_batch_size"}) {
    TRY(const auto most, said.count(name));
    if (most && *most > 0) out.most_captured = most;
  }
  // Sizes of graphs ask for graphs, unless something says that there are none.
  if (out.most_captured && !out.captured) out.captured = true;
  return {};
}

Expected<void> read_trtllm_guesses(SaidArguments& said, EngineSettings& out) {
  said.find("speculative_config"), said.find("speculative_config.speculative_model_dir");
  said.find("speculative_config.speculative_model");
  out.guesser = lower_case(said.text("speculative_config.decoding_type").value_or(""));
  TRY(const auto layers, said.count("speculative_config.num_nextn_predict_layers"));
  TRY(const auto words, said.count("speculative_config.max_draft_len"));
  if (!out.guesser.empty()) out.draft = layers ? *layers : words.value_or(0);
  return {};
}

}  // namespace

Expected<void> trtllm_settings(SaidArguments& said, EngineSettings& out) {
  const auto beside = said.text("quant_config.kv_cache_quant_algo");
  if (out.cache.empty() && beside) out.cache = *beside;
  TRY(read_trtllm_split(said, out));
  TRY(read_trtllm_batching(said, out));
  TRY(read_trtllm_graphs(said, out));
  return read_trtllm_guesses(said, out);
}

}  // namespace stepcast::engines
