#include "studies/engines/asked_pool.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/whole_number.h"
#include "studies/engines/habits.h"
#include "studies/run/nouns.h"

namespace stepcast::engines {
namespace {

template <class T> void change(T& value, const std::optional<T>& said, std::string_view name, AskedEngine& out) {
  if (!said || *said == value) return;
  value = *said;
  out.changed.push_back(fmt::format("{} {}", name, *said));
}

std::string row_of(const EnginePool& pool) {
  const auto v1 = pool.environment.find("VLLM_USE_V1");
  if (pool.server.program->engine == "vllm" && v1 != pool.environment.end() && v1->second == "0") return "vllm-v0";
  return std::string(pool.server.program->engine);
}

Expected<void> settle_row(const EngineSettings& s, const EnginePool& pool, const Gpu& gpu, AskedEngine& out) {
  const std::string_view table = pool.server.program->table;
  const std::string engine = row_of(pool);
  TRY(auto chosen, run::choose_engine(engine, "--engine"));
  out.row = std::move(chosen.row);
  const Engine usual = as_usual(out.row, gpu, {s.tp, s.groups, table == "vllm-offline"});
  change(out.row.most_sequences, std::optional(s.most_sequences.value_or(usual.most_sequences)), "most_sequences", out);
  change(out.row.most_positions, std::optional(s.most_positions.value_or(usual.most_positions)), "most_positions", out);
  change(out.row.most_captured, std::optional(s.most_captured.value_or(usual.most_captured)), "most_captured", out);
  change(out.row.captured, s.captured, "captured", out);
  change(out.row.whole_prompts, s.whole_prompts, "whole_prompts", out);
  change(out.row.prompts_apart, s.prompts_apart, "prompts_apart", out);
  change(out.row.reserves_all, s.reserves_all, "reserves_all", out);
  change(out.row.host_beside, s.host_beside, "host_beside", out);
  change(out.row.plans_ahead, s.plans_ahead, "plans_ahead", out);
  change(out.row.cache_block, s.block, "cache_block", out);
  if (!s.memory_share) return {};
  if (!(*s.memory_share > 0 && *s.memory_share <= 1))
    return fail(pool.server.where, fmt::format("a share of {} of the memory", *s.memory_share), "above 0, at most 1");
  change(out.row.cache_share, s.memory_share, "cache_share", out);
  if (!s.share_holds_weights) return {};
  // SGLang's share holds weights and cache alone: what is left is for activations and graphs.
  out.row.reserved = Bytes(0);
  for (auto* widths : {&out.row.activation_widths, &out.row.expert_activation_widths}) std::ranges::fill(*widths, 0.0);
  out.changed.emplace_back("nothing else beside weights and cache");
  return {};
}

/// TensorRT-LLM's max_attention_window: what says the network's own windows has the cache keep no more than they.
Expected<void> take_windows(
    const EngineSettings& s, const NetworkSpec& network, const std::string& where, AskedEngine& out) {
  if (s.windows.empty()) return {};
  const std::int64_t longest = s.longest.value_or(network.sequence);
  bool windowed = false, whole = false;  // layers with windows: some keep no more, some all
  for (std::int64_t layer = 0; layer < network.layers; ++layer) {
    const std::int64_t kept = s.windows[static_cast<std::size_t>(layer) % s.windows.size()];
    const bool own = is_windowed_layer(network, layer, longest);
    if (kept >= longest || (own && kept == network.window.positions)) {
      (kept >= longest ? whole : windowed) |= own;
      continue;
    }
    return fail(where,
        fmt::format("max_attention_window gives layer {} {} positions, and {} has {} there", layer, kept, network.id,
            own ? network.window.positions : longest),
        "the windows of the network, and max_seq_len or more in its other layers; others are another network");
  }
  if (windowed && whole)
    return fail(where, fmt::format("some windowed layers of {} keep all positions, and some their window", network.id),
        "one way for all of them");
  if (windowed) change(out.row.keeps_windows, std::optional(false), "keeps_windows", out);
  return {};
}

/// Variables that deal layers to stages: vllm/envs.py, and python/sglang/srt/distributed/utils.py.
constexpr std::pair<std::string_view, const char*> layer_variables[] = {
    {"vllm", "VLLM_PP_LAYER_PARTITION"}, {"sglang", "SGLANG_PP_LAYER_PARTITION"}};

std::string layout_of(const EngineSettings& s, const EnginePool& pool) {
  if (!s.layers.empty()) return fmt::format("{}", fmt::join(s.layers, ","));
  for (const auto& [engine, variable] : layer_variables)
    if (const auto said = pool.environment.find(variable);
        pool.server.program->engine == engine && said != pool.environment.end())
      return said->second;
  return "";
}

void put_split(const EngineSettings& s, const EnginePool& pool, const NetworkSpec& network, AskedEngine& out) {
  const bool experts = network.experts.count > 0;
  const bool side_by_side = s.groups_or_copies && !experts;
  const std::int64_t groups = side_by_side ? 1 : s.groups;
  const std::int64_t copies = s.copies * pool.copies * (side_by_side ? s.groups : 1);
  const auto put = [&](const char* flag, std::int64_t value) {
    if (value > 1) out.flags[flag] = std::to_string(value);
  };
  put("--tp", s.tp), put("--pp", s.pp), put("--dp-attention", groups), put("--replicas", copies);
  if (std::string layout = layout_of(s, pool); !layout.empty()) out.flags["--layout"] = std::move(layout);
  const std::int64_t over = s.experts_over_all ? s.tp * groups : s.experts_over.value_or(1);
  if (experts) put("--ep", over);
  else if (over > 1) out.notes.push_back(fmt::format("{} has no experts to lay on ranks", network.id));
  if (groups > 1 && !s.exchange.empty()) out.flags["--exchange"] = s.exchange;
}

}  // namespace

Expected<void> settle_copies(
    EnginePool& pool, const char* flag, const ToldFlags& told, bool lenient, AskedEngine& out) {
  if (pool.open_copies.empty() || told.contains(flag)) return {};
  if (!lenient)
    return fail(pool.server.where, pool.open_copies,
        fmt::format(
            "{} N says how many engines stand beside each other, or --lenient, which takes {}", flag, pool.copies));
  out.warnings.push_back(fmt::format("{}: {} taken, and {} says another number", pool.open_copies, pool.copies, flag));
  return {};
}

Expected<void> put_pool(const EngineSettings& settings, const EnginePool& pool, const NetworkSpec& network,
    const Gpu& gpu, AskedEngine& out) {
  put_split(settings, pool, network, out);
  TRY(settle_row(settings, pool, gpu, out));
  return take_windows(settings, network, pool.server.where, out);
}

Expected<void> put_prompts(
    EnginePool& pool, const TokenPool& tokens, const NetworkSpec& network, const Gpu& gpu, AskedEngine& out) {
  const std::string where = pool.server.where;
  TRY(auto s, engine_settings(pool.server));
  const std::string engine(pool.server.program->engine);
  const auto type = [&](const char* flag) { return tokens.told.contains(flag) ? tokens.told.find(flag)->second : ""; };
  TRY(const auto types, number_types_of(s, tokens.checkpoint, engine, {type("--weights"), type("--kv"), {}}));
  if (s.model != tokens.settings.model || types.weights != tokens.types.weights || types.cache != tokens.types.cache)
    return fail(where, "the pool that reads prompts has another model or other number types than that of the tokens",
        "one model and one set of types for both");
  if (s.pp > 1) return fail(where, "a pool that reads prompts on several stages is not forecast", "one stage");
  // Graphs hold iterations of tokens, of which it has none.
  s.captured = tokens.settings.captured, s.most_captured = tokens.settings.most_captured;
  AskedEngine prompts;
  TRY(put_pool(s, pool, network, gpu, prompts));
  if (prompts.row.id != out.row.id)
    return fail(where, fmt::format("{} reads prompts, and {} says their tokens", prompts.row.name, out.row.name),
        "one engine for both pools");
  if (prompts.row.cache_block != out.row.cache_block)
    return fail(where,
        fmt::format("the pool that reads prompts has blocks of {} positions, and that of the tokens of {}",
            prompts.row.cache_block, out.row.cache_block),
        "blocks of one size: others are sorted anew on their way, which is not forecast");
  if (const auto way = prompts.flags.find("--exchange"); way != prompts.flags.end())
    prompts.row.exchange = way->second == "rows" ? ExpertExchange::rows : ExpertExchange::gather;
  const auto ways = [&](const char* flag) {
    const auto found = prompts.flags.find(flag);
    return found == prompts.flags.end() ? 1 : parsed_number<std::int64_t>(found->second).value_or(1);
  };
  const auto told = tokens.told.find("--prefill-replicas");
  const std::int64_t replicas =
      told == tokens.told.end() ? ways("--replicas") : parsed_number<std::int64_t>(told->second).value_or(1);
  out.flags["--prefill-gpus"] = std::to_string(ways("--tp") * ways("--dp-attention") * replicas);
  for (const char* flag : {"--tp", "--ep", "--dp-attention"})
    out.flags[fmt::format("--prefill{}", flag + 1)] = std::to_string(ways(flag));
  out.flags["--prefill-replicas"] = std::to_string(replicas);
  out.flags["--prefill-most-sequences"] = std::to_string(prompts.row.most_sequences);
  out.flags["--prefill-most-positions"] = std::to_string(prompts.row.most_positions);
  const std::string gpus = out.flags["--prefill-gpus"];
  out.notes.push_back(gpus == "1" ? "a GPU of its own reads prompts" : gpus + " GPUs of their own read prompts");
  out.prompt_row = std::move(prompts.row), out.prompt_changed = std::move(prompts.changed);
  return {};
}

}  // namespace stepcast::engines
