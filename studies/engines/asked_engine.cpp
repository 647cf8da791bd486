// A launch as flags of serve, with a row of its own for what flags do not say.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/engine_launch.h"
#include "studies/engines/habits.h"
#include "studies/run/nouns.h"

namespace stepcast::engines {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

template <class T> void change(T& value, const std::optional<T>& said, std::string_view name, AskedEngine& out) {
  if (!said || *said == value) return;
  value = *said;
  out.changed.push_back(fmt::format("{} {}", name, *said));
}

std::string row_of(const EngineLaunch& launch) {
  const auto v1 = launch.environment.find("VLLM_USE_V1");
  if (launch.server.program->engine == "vllm" && v1 != launch.environment.end() && v1->second == "0") return "vllm-v0";
  return std::string(launch.server.program->engine);
}

Expected<void> settle_row(const EngineSettings& s, const EngineLaunch& launch, const Gpu& gpu, AskedEngine& out) {
  const std::string_view table = launch.server.program->table;
  const std::string engine = row_of(launch);
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
    return fail(launch.server.where, fmt::format("a share of {} of the memory", *s.memory_share), "above 0, at most 1");
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

std::string layout_of(const EngineSettings& s, const EngineLaunch& launch) {
  if (!s.layers.empty()) return fmt::format("{}", fmt::join(s.layers, ","));
  for (const auto& [engine, variable] : layer_variables)
    if (const auto said = launch.environment.find(variable);
        launch.server.program->engine == engine && said != launch.environment.end())
      return said->second;
  return "";
}

void put_split(const EngineSettings& s, const EngineLaunch& launch, const NetworkSpec& network, AskedEngine& out) {
  const bool experts = network.experts.count > 0;
  const bool side_by_side = s.groups_or_copies && !experts;
  const std::int64_t groups = side_by_side ? 1 : s.groups;
  const std::int64_t copies = s.copies * launch.copies * (side_by_side ? s.groups : 1);
  const auto put = [&](const char* flag, std::int64_t value) {
    if (value > 1) out.flags[flag] = std::to_string(value);
  };
  put("--tp", s.tp), put("--pp", s.pp), put("--dp-attention", groups), put("--replicas", copies);
  if (std::string layout = layout_of(s, launch); !layout.empty()) out.flags["--layout"] = std::move(layout);
  const std::int64_t over = s.experts_over_all ? s.tp * groups : s.experts_over.value_or(1);
  if (experts) put("--ep", over);
  else if (over > 1) out.notes.push_back(fmt::format("{} has no experts to lay on ranks", network.id));
  if (groups > 1 && !s.exchange.empty()) out.flags["--exchange"] = s.exchange;
}

/// Engines of their own that read prompts, as flags of serve: both pools run one row, but for sizes of iterations.
/// Graphs hold iterations of tokens, of which they have none.
Expected<void> put_prompts(
    EngineLaunch& launch, const EngineSettings& tokens, const NetworkSpec& network, const Gpu& gpu, AskedEngine& out) {
  EngineLaunch alone;
  alone.server = *launch.prompts, alone.environment = launch.prompt_environment, alone.copies = launch.prompt_copies;
  const std::string where = alone.server.where;
  TRY(auto s, engine_settings(alone.server));
  if (s.model != tokens.model || s.quantization != tokens.quantization || s.cache != tokens.cache ||
      s.dtype != tokens.dtype)
    return fail(where, "the pool that reads prompts has another model or other number types than that of the tokens",
        "one model and one set of types for both");
  if (s.pp > 1) return fail(where, "a pool that reads prompts on several stages is not forecast", "one stage");
  AskedEngine pool;
  s.captured = tokens.captured, s.most_captured = tokens.most_captured;
  TRY(settle_row(s, alone, gpu, pool));
  TRY(take_windows(s, network, where, pool));
  put_split(s, alone, network, pool);
  if (pool.row.id != out.row.id)
    return fail(where, fmt::format("{} reads prompts, and {} says their tokens", pool.row.name, out.row.name),
        "one engine for both pools");
  Engine same = pool.row;
  same.most_sequences = out.row.most_sequences, same.most_positions = out.row.most_positions;
  same.most_captured = out.row.most_captured;
  const auto own = [](const AskedEngine& of) {
    return of.changed.empty() ? std::string("the engine's own settings")
                              : fmt::format("{}", fmt::join(of.changed, ", "));
  };
  if (write_engine(same) != write_engine(out.row))
    return fail(where,
        fmt::format("the pool that reads prompts has {}, and that of the tokens {}", own(pool), own(out)),
        "engines that differ in their ranks and in the sizes of iterations alone");
  if (pool.flags.contains("--exchange") && pool.flags["--exchange"] != out.flags["--exchange"])
    return fail(where, "the two pools exchange rows of experts in different ways", "one way for both");
  const auto ways = [&](const char* flag) {
    const auto found = pool.flags.find(flag);
    return found == pool.flags.end() ? 1 : parsed_number<std::int64_t>(found->second).value_or(1);
  };
  const std::int64_t replicas = ways("--replicas");
  out.flags["--prefill-gpus"] = std::to_string(ways("--tp") * ways("--dp-attention") * replicas);
  for (const char* flag : {"--tp", "--ep", "--dp-attention", "--replicas"})
    out.flags[fmt::format("--prefill{}", flag + 1)] = std::to_string(ways(flag));
  out.flags["--prefill-most-sequences"] = std::to_string(pool.row.most_sequences);
  out.flags["--prefill-most-positions"] = std::to_string(pool.row.most_positions);
  out.notes.push_back(fmt::format("{} GPUs of their own read prompts", out.flags["--prefill-gpus"]));
  *launch.prompts = std::move(alone.server);
  return {};
}

/// Guesses that the form of `infer --draft` is of: a layer of the network's width with the LM head.
constexpr std::array drafters = {"mtp", "deepseek_mtp", "nextn", "eagle", "eagle3", "qwen3_next_mtp", "ernie_mtp",
    "glm4_moe_mtp", "mimo_mtp", "longcat_flash_mtp", "eagle3_one_model"};

/// The most that --draft takes.
constexpr std::int64_t most_guesses = 7;

std::optional<Error> unforecast_guesses(const EngineSettings& s, bool known, const std::string& where) {
  if (s.no_row_of_guesses || !known || s.draft <= most_guesses) return s.no_row_of_guesses;
  return Error{where, fmt::format("{} tokens that {} guesses before an iteration are not forecast", s.draft, s.guesser),
      fmt::format("at most {}, as --draft takes them", most_guesses)};
}

Expected<void> put_guesses(
    const EngineSettings& s, const std::string& where, bool guesses, bool lenient, AskedEngine& out) {
  if (s.guesser.empty()) return {};
  const bool known = std::ranges::find(drafters, lower_case(s.guesser)) != drafters.end();
  if (const auto error = unforecast_guesses(s, known, where)) {
    if (!lenient) return fail(error->where, error->what, error->hint + ", or --lenient, which forecasts without them");
    out.warnings.push_back(fmt::format("{}: {}", error->where, error->what));
    return {};
  }
  if (guesses && known && s.draft > 0) {
    out.flags["--draft"] = std::to_string(s.draft);
    return {};
  }
  const std::string what =
      known && s.draft > 0
          ? fmt::format("{} tokens that {} guesses are not forecast without --accepted", s.draft, s.guesser)
          : fmt::format("tokens that {} guesses are not forecast", s.guesser);
  if (!lenient)
    return fail("--launch", what,
        known ? "serve and infer take them with --accepted R; --lenient forecasts without them"
              : "--lenient forecasts without them");
  out.warnings.push_back(what);
  return {};
}

/// What flags say of the load goes over the benchmark's; one way to say it leaves the others out.
void put_load(Flags load, const Flags& told, AskedEngine& out) {
  const bool other_pace = told.contains("--concurrency") || told.contains("--rate") || told.contains("--trace");
  if (other_pace)
    for (const char* flag : {"--concurrency", "--rate", "--burstiness", "--requests"}) load.erase(flag);
  if (told.contains("--trace"))
    for (const char* flag : {"--input", "--output", "--shared", "--shortest"}) load.erase(flag);
  for (auto& [flag, value] : load) out.flags.emplace(flag, std::move(value));
}

/// A value of the load that hangs on what nothing sets; nullptr: none does.
const GivenArgument* open_part(const SaidArguments& said) {
  for (const GivenArgument& given : said.all)
    if (said.counts(given) && !given.unset.empty() && standing_of(said, given) == Standing::used) return &given;
  return nullptr;
}

Expected<void> take_load(EngineLaunch& launch, const EngineSettings& s, const Flags& told, AskedEngine& out) {
  SaidArguments* said = launch.server.program->loads ? &launch.server : launch.bench ? &*launch.bench : nullptr;
  const GivenArgument* open = launch.bench ? open_part(*launch.bench) : nullptr;
  if (open != nullptr)
    out.notes.push_back(fmt::format(
        "the load is not read: {} hangs on ${}", place_of_argument(*launch.bench, *open), open->unset.front()));
  else if (said != nullptr) {
    TRY(auto load, bench_load(*said));
    if (s.prefixes && !*s.prefixes && load.flags.erase("--shared") > 0)
      load.notes.emplace_back("heads of prompts are read each time: prefix caching is off");
    out.notes.insert(out.notes.end(), load.notes.begin(), load.notes.end());
    put_load(std::move(load.flags), told, out);
  }
  const auto length = [&](const char* flag) {
    for (const Flags* flags : {&told, static_cast<const Flags*>(&out.flags)})
      if (const auto found = flags->find(flag); found != flags->end())
        return parsed_number<std::int64_t>(found->second).value_or(0);
    return std::int64_t{0};
  };
  const std::int64_t input = length("--input"), output = length("--output");
  if (s.longest && *s.longest > 0 && input + output > *s.longest)
    return fail(launch.server.where,
        fmt::format("requests of {} and {} positions, and the engine takes {}", input, output, *s.longest),
        "shorter ones, or a longer --max-model-len, --context-length or --max_seq_len");
  return {};
}

/// Sizes count and are read by nobody: a row of the tables that no reader asks for.
void check_read(const SaidArguments& said, AskedEngine& out) {
  for (const GivenArgument& given : said.all)
    if (said.counts(given) && standing_of(said, given) == Standing::used &&
        !said.was_asked(counted_name(said.table(), given.name)))
      out.warnings.push_back(fmt::format("{} is not read", place_of_argument(said, given)));
}

}  // namespace

Expected<AskedEngine> asked_engine(EngineLaunch& launch, const std::map<std::string, std::string, std::less<>>& told,
    const std::string& network, const LaunchUse& use) {
  AskedEngine out;
  TRY(const auto settings, engine_settings(launch.server));
  const auto told_as = [&](const char* flag) {
    const auto found = told.find(flag);
    return found == told.end() ? std::string() : found->second;
  };
  const Checkpoint checkpoint = settings.model_open ? Checkpoint{} : checkpoint_of(settings.model);
  out.network = network.empty() ? checkpoint.network : network;
  if (out.network.empty())
    return fail(launch.server.where,
        settings.model_open      ? "its model hangs on what nothing sets"
        : settings.model.empty() ? "it names no model"
                                 : fmt::format("its model {:.80} is no network of the catalogue", settings.model),
        "the network in front: a catalogue id or a config.json, stepcast serve llama3-70b --launch FILE");
  if (network.empty()) out.notes = checkpoint.notes;
  TRY(const auto spec, run::choose_network(out.network, "network"));
  const std::string machine = told_as("--machine");
  TRY(const auto where, run::choose_machine(machine.empty() ? "dgx-h100" : machine, "--machine"));
  if (names_other_gpu(launch.gpu_kind, where.row))
    out.warnings.push_back(
        fmt::format("the deployment asks for GPUs '{:.40}', and the forecast is for {}: --machine chooses others",
            launch.gpu_kind, where.row.name));
  const std::string engine(launch.server.program->engine);
  TRY(auto types, number_types_of(settings, checkpoint, engine, {told_as("--weights"), told_as("--kv"), {}}));
  if (types.weights == "bf16" && where.row.gpu.peak[static_cast<int>(Precision::bf16)].value() <= 0)
    types.weights = "fp16";
  out.flags["--weights"] = types.weights, out.flags["--kv"] = types.cache;
  out.notes.insert(out.notes.end(), types.notes.begin(), types.notes.end());
  out.notes.insert(out.notes.end(), settings.notes.begin(), settings.notes.end());
  out.notes.insert(out.notes.end(), launch.notes.begin(), launch.notes.end());
  put_split(settings, launch, spec.row, out);
  TRY(settle_row(settings, launch, where.row.gpu, out));
  TRY(take_windows(settings, spec.row, launch.server.where, out));
  out.flags["--engine"] = out.row.id;
  if (launch.prompts && use.load) {
    TRY(put_prompts(launch, settings, spec.row, where.row.gpu, out));
  } else if (launch.prompts && told_as("--phase") == "prefill") {
    return fail("--phase", "of two pools the one that says tokens is meant", "serve, which forecasts both");
  } else if (launch.prompts) {
    out.notes.emplace_back("of two pools the one that says tokens is meant");
  }
  TRY(put_guesses(settings, launch.server.where, use.guesses, use.lenient, out));
  if (use.load) {
    TRY(take_load(launch, settings, told, out));
  }
  for (const auto& [flag, value] : told) out.flags[flag] = value;
  check_read(launch.server, out);
  if (launch.prompts && use.load) check_read(*launch.prompts, out);
  if (use.load && launch.bench && open_part(*launch.bench) == nullptr) check_read(*launch.bench, out);
  return out;
}

}  // namespace stepcast::engines
