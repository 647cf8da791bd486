#include "studies/engines/asked_pool.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/engines/habits.h"
#include "studies/engines/vllm_v0.h"
#include "studies/run/nouns.h"
#include "studies/run/split/stage_layers.h"

namespace stepcast::engines {
namespace {

template <class T> void change(T& value, const std::optional<T>& said, std::string_view name, AskedEngine& out) {
  if (!said || *said == value) return;
  value = *said;
  out.changed.push_back(fmt::format("{} {}", name, *said));
}

std::string row_of(const EnginePool& pool) {
  if (asks_for_v0(pool) && !has_v1_alone(pool)) return "vllm-v0";
  return std::string(row_of_release(pool.server.program->engine, pool.release));
}

/// The row that is told in place of the launch's, where it is of the same engine: what the launch says changes it all
/// the same.
std::optional<Engine> told_row(const EnginePool& pool, const ToldFlags& told) {
  const auto flag = told.find("--engine");
  if (flag == told.end()) return std::nullopt;
  auto chosen = run::choose_engine(flag->second, "--engine");
  if (!chosen) return std::nullopt;
  const std::string_view engine = pool.server.program->engine;
  const bool same =
      chosen->row.id == engine || std::ranges::any_of(engine_releases(), [&](const EngineRelease& release) {
        return release.engine == engine && release.row == chosen->row.id;
      });
  return same ? std::optional(std::move(chosen->row)) : std::nullopt;
}

/// Which release is meant, where that decides on the row.
void say_release(const EnginePool& pool, AskedEngine& out) {
  const std::string_view engine = pool.server.program->engine;
  if (out.of_told_row) return;
  if (!pool.release.empty()) {
    out.notes.push_back(fmt::format("release {:.40}, as its image says{}", pool.release,
        asks_for_v0(pool) && has_v1_alone(pool) ? ", which has V1 alone, whatever VLLM_USE_V1 says" : ""));
    return;
  }
  const EngineRelease *own = nullptr, *newest = nullptr;
  for (const EngineRelease& row : engine_releases())
    if (row.engine == engine) (row.row == engine ? own : newest) = &row;
  if (own != nullptr && !own->before.empty() && out.row.id == engine)
    out.notes.push_back(fmt::format(
        "its release is not told, and one before {} is meant: --engine {} is of later ones", own->before, newest->row));
}

/// vllm/engine/arg_utils.py, where max_num_batched_tokens is not said and prompts are not cut: an iteration holds the
/// longest request, and no more than all that run at once.
Expected<std::int64_t> whole_prompt_positions(
    const EngineSettings& s, const EnginePool& pool, const Engine& usual, std::string_view network) {
  const std::int64_t longest = s.longest.value_or(0);
  if (longest < 1)
    return fail(pool.server.where,
        fmt::format("prompts are not cut, so that iterations hold as many positions as the longest request, and how "
                    "long one of {} may be is not told",
            network),
        "--max-model-len or --max-num-batched-tokens in the launch, or --most-positions N");
  const std::int64_t most = std::max<std::int64_t>(1, s.most_sequences.value_or(usual.most_sequences));
  const std::int64_t positions = std::max(longest, usual.most_positions);
  return longest > positions / most ? positions : std::min(positions, most * longest);
}

/// Of the row of V0 that counts: prompts in pieces beside tokens, and by itself 2,048 positions of an iteration
/// (vllm/config.py of 0.6.6 to 0.10, SchedulerConfig).
void cut_prompts(const EngineSettings& s, const EnginePool& pool, const NetworkSpec& network, const Gpu& gpu,
    EngineSettings& cut, AskedEngine& out) {
  const bool v0 = pool.server.program->engine == "vllm" && out.row.prompts_apart && out.row.whole_prompts;
  if (!v0) return;
  const bool before = !pool.release.empty() && numbers_of_release(pool.release) < std::vector<int>{0, 8};
  const bool by_itself =
      !s.whole_prompts && s.draft == 0 && v0_cuts_prompts(network, gpu, s.longest.value_or(out.positions), before);
  if (by_itself) {
    cut.whole_prompts = cut.prompts_apart = false;
    out.notes.emplace_back(
        "prompts are read in pieces beside tokens, as V0 does by itself where requests may be longer "
        "than 32,768 positions");
  }
  constexpr std::int64_t usual = 2048;
  if (!cut.whole_prompts.value_or(true) && !s.most_positions) cut.most_positions = usual;
}

Expected<void> settle_row(const EngineSettings& said, const EnginePool& pool, const NetworkSpec& network,
    const Gpu& gpu, const ToldFlags& told, AskedEngine& out) {
  TRY(check_v1(pool));
  EngineSettings s = said;
  const std::string_view table = pool.server.program->table;
  auto same = told_row(pool, told);
  out.of_told_row = same.has_value();
  if (same) {
    out.row = std::move(*same);
  } else {
    TRY(auto chosen, run::choose_engine(row_of(pool), "--engine"));
    out.row = std::move(chosen.row);
  }
  cut_prompts(said, pool, network, gpu, s, out);
  Engine usual = as_usual(out.row, gpu, {s.tp, s.groups, table == "vllm-offline"});
  if (pool.server.program->engine == "vllm" && s.whole_prompts.value_or(false) && !s.most_positions &&
      !told.contains("--most-positions")) {
    TRY(usual.most_positions, whole_prompt_positions(s, pool, usual, network.id));
    // said, so that memory is kept for as many, whatever the load's requests are
    out.flags["--most-positions"] = std::to_string(usual.most_positions);
  }
  change(out.row.most_sequences, std::optional(s.most_sequences.value_or(usual.most_sequences)), "most_sequences", out);
  std::int64_t positions = s.most_positions.value_or(usual.most_positions);
  if (s.positions_together && *s.positions_together < positions) {
    out.notes.push_back(fmt::format("prompts of {} positions fill an iteration; longer ones are read in pieces of so "
                                    "many here",
        *s.positions_together));
    positions = *s.positions_together;
  }
  change(out.row.most_positions, std::optional(positions), "most_positions", out);
  change(out.row.most_captured, std::optional(s.most_captured.value_or(usual.most_captured)), "most_captured", out);
  change(out.row.captured, s.captured, "captured", out);
  // TensorRT-LLM's graphs are of at most 128 sequences where no size is told (tensorrt_llm/llmapi/llm_args.py,
  // validate_cuda_graph_config).
  if (out.row.captured && out.row.most_captured == 0) out.row.most_captured = 128;
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
  if (!windowed) return {};
  change(out.row.keeps_windows, std::optional(false), "keeps_windows", out);
  change(out.row.windows_when_said, std::optional(false), "windows_when_said", out);
  return {};
}

/// Variables that deal layers to stages: vllm/envs.py, and python/sglang/srt/distributed/utils.py.
constexpr std::pair<std::string_view, const char*> layer_variables[] = {
    {"vllm", "VLLM_PP_LAYER_PARTITION"}, {"sglang", "SGLANG_PP_LAYER_PARTITION"}};

struct SaidLayers {
  std::string text, where;
};
std::optional<SaidLayers> said_layers(const EngineSettings& s, const EnginePool& pool) {
  if (!s.layers.empty()) {
    const auto given = std::ranges::find_if(pool.server.all,
        [&](const GivenArgument& each) { return each.name == "pp_partition" && pool.server.counts(each); });
    return SaidLayers{fmt::format("{}", fmt::join(s.layers, ",")),
        given == pool.server.all.end() ? pool.server.where : place_of_argument(pool.server, *given)};
  }
  for (const auto& [engine, variable] : layer_variables)
    if (const auto said = pool.environment.find(variable);
        pool.server.program->engine == engine && said != pool.environment.end())
      return SaidLayers{said->second, fmt::format("{} {}", pool.server.where, variable)};
  return std::nullopt;
}

/// Errors: layers of stages that are not the network's.
Expected<void> put_layers(const EngineSettings& s, const EnginePool& pool, const NetworkSpec& network,
    const ToldFlags& told, AskedEngine& out) {
  const auto said = said_layers(s, pool);
  if (!said || told.contains("--layout")) return {};
  const auto flag = told.find("--pp");
  const std::int64_t stages = flag == told.end() ? s.pp : parsed_number<std::int64_t>(flag->second).value_or(s.pp);
  out.flags["--layout"] = said->text;
  if (stages > network.layers) return {};  // more stages than layers are said of --pp
  TRY(run::read_stage_layers(said->text, said->where, network, stages));
  return {};
}

/// The most that --gpus takes.
constexpr std::int64_t most_gpus = 10'000'000;

/// Errors: more GPUs than anybody has, or none.
Expected<std::int64_t> product_of_ways(std::initializer_list<std::int64_t> ways, const std::string& where) {
  std::int64_t product = 1;
  for (const std::int64_t count : ways) {
    if (count < 1 || count > most_gpus / product)
      return fail(where, fmt::format("{} GPUs", fmt::join(ways, " x ")),
          fmt::format("from 1 to {} of ranks and replicas together", most_gpus));
    product *= count;
  }
  return product;
}

/// A variable said it before --all2all-backend did (vllm/envs.py of releases before 0.12).
Expected<std::string> exchange_of(const EngineSettings& s, const EnginePool& pool) {
  const auto said = pool.environment.find("VLLM_ALL2ALL_BACKEND");
  if (!s.exchange.empty() || pool.server.program->engine != "vllm" || said == pool.environment.end()) return s.exchange;
  return vllm_exchange(said->second, pool.server.where + " VLLM_ALL2ALL_BACKEND");
}

/// GPUs that an engine on one machine has, and who says so; nullopt: not told, or it runs on several.
struct HeldGpus {
  std::int64_t count;
  std::string said;
};
std::optional<HeldGpus> held_gpus(const EnginePool& pool) {
  SaidArguments said = pool.server;
  const bool several = pool.host.on_several() || pool.on_ray || said.text("nnodes").value_or("1") != "1" ||
                       said.text("node_rank") || said.text("distributed_executor_backend") == "ray";
  if (several && !pool.holds_all) return std::nullopt;
  // of one machine, where those of all ranks may stand on several
  if (!pool.holds_all)
    for (const char* variable : device_variables)
      if (const auto names = pool.environment.find(variable); names != pool.environment.end())
        if (const std::int64_t count = calibrate::visible_devices(names->second); count > 0)
          return HeldGpus{count, fmt::format("{} {:.40}", variable, names->second)};
  if (const std::int64_t count = pool.host.of_machine(); count > 0)
    return HeldGpus{count, fmt::format("{} {} asked for", count, count == 1 ? "GPU is" : "GPUs are")};
  return std::nullopt;
}

/// Errors: an engine with more ranks than GPUs.
Expected<void> check_held_gpus(const EngineSettings& s, const EnginePool& pool, const ToldFlags& told) {
  const auto held = held_gpus(pool);
  const std::int64_t side_by_side = pool.holds_all ? s.groups * s.copies : 1;
  if (!held || s.tp * s.pp * side_by_side <= held->count || told.contains("--tp") || told.contains("--pp")) return {};
  if (pool.holds_all)
    return fail(pool.server.where,
        fmt::format("tp {} x pp {} x {} beside each other, where {}", s.tp, s.pp, side_by_side, held->said),
        "as many GPUs as ranks; --tp N and --pp N go over the launch");
  return fail(pool.server.where, fmt::format("tp {} x pp {} on one machine, where {}", s.tp, s.pp, held->said),
      "as many GPUs as ranks; --tp N and --pp N go over the launch");
}

/// Ranks of one engine: flags go over the launch.
Expected<std::int64_t> ranks_of(const EngineSettings& s, const ToldFlags& told, const std::string& where) {
  const auto ways = [&](const char* flag, std::int64_t said) {
    const auto found = told.find(flag);
    return found == told.end() ? said : parsed_number<std::int64_t>(found->second).value_or(said);
  };
  return product_of_ways({ways("--tp", s.tp), ways("--pp", s.pp), ways("--dp-attention", s.groups)}, where);
}

/// GPUs that it has of each node that it stands on; 0: not told. SGLang deals ranks to nodes evenly
/// (python/sglang/srt/entrypoints/engine.py, _calculate_rank_ranges), and so does vLLM (vllm/config/parallel.py,
/// local_world_size), whose data ranks of a node data_parallel_size_local tells. Errors: ranks that do not divide, or
/// do not fit into a pod.
Expected<std::int64_t> node_gpus_of(
    const EngineSettings& s, EnginePool& pool, bool side_by_side, const ToldFlags& told) {
  if (told.contains("--node-gpus")) return 0;
  TRY(const std::int64_t ranks, ranks_of(s, told, pool.server.where));
  TRY(const auto nodes, pool.server.count("nnodes"));
  TRY(const auto local, pool.server.count("data_parallel_size_local"));
  TRY(const auto of_node, pool.server.count("gpus_per_node"));
  const std::int64_t given = pool.host.on_several() ? pool.host.of_machine() : pool.host.node;
  std::int64_t gpus = of_node.value_or(given);
  if (nodes && *nodes > 1) {
    if (ranks % *nodes != 0)
      return fail(pool.server.where, fmt::format("{} ranks on {} nodes", ranks, *nodes),
          "as many on each node; --tp N, --pp N, --dp-attention N and --node-gpus N go over the launch, --prefill-tp N "
          "and the like where prompts are read");
    gpus = ranks / *nodes;
  } else if (local && *local > 0 && s.groups > *local) {
    TRY(gpus, product_of_ways({*local, ranks / s.groups}, pool.server.where));
  }
  if (given > 0 && gpus > given)
    return fail(pool.server.where, fmt::format("{} ranks on a node, which is given {} GPUs", gpus, given),
        "as many GPUs as ranks");
  // Data ranks that share nothing are engines of their own.
  const std::int64_t of_one = side_by_side ? ranks / s.groups : ranks;
  return gpus < of_one ? gpus : 0;
}

/// Errors: more GPUs than --gpus takes, or than the engine has. Flags that say how many engines there are go over the
/// launch.
Expected<void> put_split(
    const EngineSettings& s, EnginePool& pool, const NetworkSpec& network, const ToldFlags& told, AskedEngine& out) {
  const bool experts = network.experts.count > 0;
  const bool side_by_side = s.groups_or_copies && !experts;
  const std::int64_t groups = side_by_side ? 1 : s.groups;
  const bool counted = told.contains("--replicas");
  TRY(product_of_ways({s.tp, s.pp, s.groups, counted ? 1 : s.copies, counted ? 1 : pool.copies}, pool.server.where));
  TRY(check_held_gpus(s, pool, told));
  TRY(const std::int64_t node_gpus, node_gpus_of(s, pool, side_by_side, told));
  const std::int64_t copies = counted ? 1 : s.copies * pool.copies * (side_by_side ? s.groups : 1);
  const auto put = [&](const char* flag, std::int64_t value) {
    if (value > 1) out.flags[flag] = std::to_string(value);
  };
  if (node_gpus > 0) out.flags["--node-gpus"] = std::to_string(node_gpus);
  put("--tp", s.tp), put("--pp", s.pp), put("--dcp", s.cache_over), put("--dp-attention", groups),
      put("--replicas", copies);
  const std::int64_t over = s.experts_over_all ? s.tp * groups : s.experts_over.value_or(1);
  if (experts) put("--ep", over);
  // Where no expert lies whole on a rank none is copied.
  if (experts && over > 1 && s.spare_experts > 0) out.flags["--spare-experts"] = std::to_string(s.spare_experts);
  if (!experts && over > 1) out.notes.push_back(fmt::format("{} has no experts to lay on ranks", network.id));
  TRY(const auto exchange, exchange_of(s, pool));
  if (groups > 1 && !exchange.empty()) out.flags["--exchange"] = exchange;
  return {};
}

}  // namespace

namespace {

/// The id of the row that counts.
std::string row_named(const EnginePool& pool, const ToldFlags& told) {
  if (const auto same = told_row(pool, told)) return same->id;
  const auto flag = told.find("--engine");
  return flag == told.end() ? row_of(pool) : flag->second;
}

}  // namespace

std::string release_of(const EnginePool& pool, const ToldFlags& told) {
  const auto row = told.find("--engine");
  const std::string own(pool.server.program->engine), named = row_named(pool, told);
  std::string first = "0";  // of the row's releases
  for (const EngineRelease& each : engine_releases()) {
    if (each.engine != own) continue;
    if (each.row == named && named != own) return pool.release.empty() || row != told.end() ? first : pool.release;
    first = each.before;
  }
  return pool.release;
}

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

Expected<void> put_pool(const EngineSettings& settings, EnginePool& pool, const NetworkSpec& network, const Gpu& gpu,
    const ToldFlags& told, AskedEngine& out) {
  TRY(put_split(settings, pool, network, told, out));
  TRY(put_layers(settings, pool, network, told, out));
  TRY(settle_row(settings, pool, network, gpu, told, out));
  say_release(pool, out);
  return take_windows(settings, network, pool.server.where, out);
}

Expected<void> put_prompts(
    EnginePool& pool, const TokenPool& tokens, const NetworkSpec& network, const Gpu& gpu, AskedEngine& out) {
  const std::string where = pool.server.where;
  TRY(auto s, engine_settings(pool.server));
  const std::string engine(pool.server.program->engine);
  const auto type = [&](const char* flag) { return tokens.told.contains(flag) ? tokens.told.find(flag)->second : ""; };
  TRY(auto types, number_types_of(s, tokens.checkpoint, {engine, release_of(pool, tokens.told), &network, &gpu},
                      {type("--weights"), type("--kv"), {}}));
  if (s.model != tokens.settings.model || types.weights != tokens.types.weights || types.cache != tokens.types.cache)
    return fail(where, "the pool that reads prompts has another model or other number types than that of the tokens",
        "one model and one set of types for both");
  // Graphs hold iterations of tokens, of which it has none.
  s.captured = tokens.settings.captured, s.most_captured = tokens.settings.most_captured;
  AskedEngine prompts;
  const auto told = tokens.told.find("--prefill-replicas");
  ToldFlags own;
  if (told != tokens.told.end()) own["--replicas"] = told->second;
  for (const std::string way : {"tp", "pp", "dp-attention", "node-gpus"})
    if (const auto said = tokens.told.find("--prefill-" + way); said != tokens.told.end())
      own["--" + way] = said->second;
  if (const auto said = tokens.told.find("--engine"); said != tokens.told.end()) own["--engine"] = said->second;
  prompts.positions = out.positions;
  TRY(put_pool(s, pool, network, gpu, own, prompts));
  if (prompts.row.id != out.row.id)
    return fail(where, fmt::format("{} reads prompts, and {} says their tokens", prompts.row.name, out.row.name),
        "one engine for both pools");
  if (prompts.row.cache_block != out.row.cache_block)
    return fail(where,
        fmt::format("the pool that reads prompts has blocks of {} positions, and that of the tokens of {}",
            prompts.row.cache_block, out.row.cache_block),
        "blocks of one size: others are sorted anew on their way, which is not forecast");
  if (prompts.flags.contains("--dcp"))
    return fail(where, "the pool that reads prompts splits the keys of a sequence over ranks, which is not forecast",
        "that of the tokens alone");
  if (prompts.flags.contains("--layout"))
    return fail(where, "layers of the stages that read prompts are dealt out by hand, which is not forecast",
        "the engine's own rule for them");
  if (prompts.flags.contains("--spare-experts"))
    out.notes.emplace_back("copies of experts of the pool that reads prompts are not in its memory here");
  if (const auto way = prompts.flags.find("--exchange"); way != prompts.flags.end())
    prompts.row.exchange = way->second == "rows" ? ExpertExchange::rows : ExpertExchange::gather;
  const auto ways = [&](const char* flag) {
    const auto found = prompts.flags.find(flag);
    return found == prompts.flags.end() ? 1 : parsed_number<std::int64_t>(found->second).value_or(1);
  };
  const std::int64_t replicas =
      told == tokens.told.end() ? ways("--replicas") : parsed_number<std::int64_t>(told->second).value_or(1);
  TRY(const std::int64_t all, product_of_ways({ways("--tp"), ways("--pp"), ways("--dp-attention"), replicas}, where));
  out.flags["--prefill-gpus"] = std::to_string(all);
  for (const char* flag : {"--tp", "--pp", "--ep", "--dp-attention"})
    if (std::string_view(flag) != "--pp" || ways(flag) > 1)
      out.flags[fmt::format("--prefill{}", flag + 1)] = std::to_string(ways(flag));
  if (const auto seat = prompts.flags.find("--node-gpus"); seat != prompts.flags.end())
    out.flags["--prefill-node-gpus"] = seat->second;
  out.flags["--prefill-replicas"] = std::to_string(replicas);
  out.flags["--prefill-most-sequences"] = std::to_string(prompts.row.most_sequences);
  out.flags["--prefill-most-positions"] = std::to_string(prompts.row.most_positions);
  const std::string gpus = out.flags["--prefill-gpus"];
  out.notes.push_back(gpus == "1" ? "a GPU of its own reads prompts" : gpus + " GPUs of their own read prompts");
  std::erase_if(prompts.changed,
      [](const std::string& one) { return one.starts_with("captured ") || one.starts_with("most_captured "); });
  out.prompt_row = std::move(prompts.row), out.prompt_changed = std::move(prompts.changed);
  return {};
}

}  // namespace stepcast::engines
