// A launch as flags of serve, with rows of their own for what flags do not say.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "model/network/hf/stored_weights.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/asked_pool.h"
#include "studies/engines/positions/context_length.h"
#include "studies/run/nouns.h"

namespace stepcast::engines {
namespace {

/// Guesses that the form of `infer --draft` is of: a layer of the network's width with the LM head.
constexpr std::array drafters = {"mtp", "deepseek_mtp", "nextn", "eagle", "eagle3", "qwen3_next_mtp", "ernie_mtp",
    "glm4_moe_mtp", "glm4_moe_lite_mtp", "mimo_mtp", "longcat_flash_mtp", "nemotron_h_mtp", "qwen3_5_mtp",
    "exaone_moe_mtp", "pangu_ultra_moe_mtp", "step3p5_mtp", "eagle3_one_model"};

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
  const bool steps = s.draft > 0;
  const std::string what =
      known && steps ? fmt::format("{} tokens that {} guesses are not forecast without --accepted", s.draft, s.guesser)
      : known        ? fmt::format("how many tokens {} guesses before an iteration is not told", s.guesser)
                     : fmt::format("tokens that {} guesses are not forecast", s.guesser);
  if (!lenient)
    return fail("--launch", what,
        known && steps ? "serve and infer take them with --accepted R; --lenient forecasts without them"
        : known ? "the steps in the launch (--speculative-num-steps 3, num_speculative_tokens); --lenient forecasts "
                  "without them"
                : "--lenient forecasts without them");
  out.warnings.push_back(what);
  return {};
}

/// What flags say of the load goes over the benchmark's, and another pace leaves out all of the pace that it had; a
/// note names what no longer counts.
void put_load(ToldFlags load, const ToldFlags& told, AskedEngine& out) {
  std::vector<std::string> replaced;
  const auto leave = [&](const char* flag) {
    if (const auto found = load.find(flag); found != load.end()) {
      const auto same = told.find(flag);
      if (same == told.end() || same->second != found->second)
        replaced.push_back(fmt::format("{} {}", flag, found->second));
      load.erase(found);
    }
  };
  const auto differs = [&](const char* flag) {
    const auto now = told.find(flag);
    const auto before = load.find(flag);
    return now != told.end() && (before == load.end() || before->second != now->second);
  };
  if (differs("--concurrency") || differs("--rate") || differs("--trace"))
    for (const char* flag : {"--concurrency", "--rate", "--burstiness", "--requests"}) leave(flag);
  if (told.contains("--trace"))
    for (const char* flag : {"--input", "--output", "--shared", "--shortest"}) leave(flag);
  for (const auto& [flag, value] : told) leave(flag.c_str());
  if (!replaced.empty())
    out.notes.push_back(
        fmt::format("of the launch's own load, what flags replace or leave out: {}", fmt::join(replaced, ", ")));
  for (auto& [flag, value] : load) out.flags.emplace(flag, std::move(value));
}

/// A value of the load that hangs on what nothing sets; nullptr: none does.
const GivenArgument* open_part(const SaidArguments& said) {
  for (const GivenArgument& given : said.all)
    if (said.counts(given) && !given.unset.empty() && standing_of(said, given) == Standing::used) return &given;
  return nullptr;
}

Expected<void> take_load(EngineLaunch& launch, const EngineSettings& s, const ToldFlags& told, AskedEngine& out) {
  SaidArguments* said = launch.server.program->loads ? &launch.server : launch.bench ? &*launch.bench : nullptr;
  const GivenArgument* open = launch.bench ? open_part(*launch.bench) : nullptr;
  if (open != nullptr)
    out.notes.push_back(fmt::format(
        "the load is not read: {} hangs on ${}", place_of_argument(*launch.bench, *open), open->unset.front()));
  else if (said != nullptr) {
    TRY(auto load, bench_load(*said, launch.made));
    if (s.prefixes && !*s.prefixes && load.flags.erase("--shared") > 0)
      load.notes.emplace_back("heads of prompts are read each time: prefix caching is off");
    out.notes.insert(out.notes.end(), load.notes.begin(), load.notes.end());
    for (const std::string& open : load.open) out.notes.push_back(fmt::format("not told of the load: {}", open));
    put_load(std::move(load.flags), told, out);
  } else if (launch.load) {
    out.notes.insert(out.notes.end(), launch.load->notes.begin(), launch.load->notes.end());
    put_load(launch.load->flags, told, out);
  }
  const auto length = [&](const char* flag) {
    for (const ToldFlags* flags : {&told, static_cast<const ToldFlags*>(&out.flags)})
      if (const auto found = flags->find(flag); found != flags->end())
        return parsed_number<std::int64_t>(found->second).value_or(0);
    return std::int64_t{0};
  };
  const std::int64_t input = length("--input"), output = length("--output");
  if (out.longest > 0 && input + output > out.longest)
    return fail(launch.server.where,
        fmt::format("requests of {} and {} positions, and the engine takes {}", input, output, out.longest),
        "shorter ones, or a longer --max-model-len, --context-length or --max_seq_len");
  return {};
}

/// The engine of its own that reads prompts says one token of each.
Expected<void> check_prompts(
    std::int64_t longest, const EngineLaunch& launch, const ToldFlags& told, const AskedEngine& out) {
  const ToldFlags& flags = told.contains("--input") ? told : out.flags;
  const auto found = flags.find("--input");
  const std::int64_t prompt = found == flags.end() ? 0 : parsed_number<std::int64_t>(found->second).value_or(0);
  if (longest == 0 || prompt < longest) return {};
  return fail(launch.prompts->server.where,
      fmt::format(
          "prompts of {} positions and their first token, and the engine that reads them takes {}", prompt, longest),
      "shorter ones, or a longer --max-model-len, --context-length or --max_seq_len of that engine");
}

/// A running sequence of infer, or its prompt, which in a whole batch grows by its output.
Expected<void> check_iteration(const EngineLaunch& launch, std::int64_t longest, const ToldFlags& told) {
  const auto length = [&](const char* flag) {
    const auto found = told.find(flag);
    return found == told.end() ? 0 : parsed_number<std::int64_t>(found->second).value_or(0);
  };
  const std::int64_t prompt = length("--cached") + length("--prompt"), grown = prompt > 0 ? length("--output") : 0;
  const std::int64_t sequence = std::max(length("--context"), prompt + grown);
  if (longest > 0 && sequence > longest)
    return fail(launch.server.where,
        fmt::format("a sequence of {} positions, and the engine takes {}", sequence, longest),
        "a shorter one, or a longer --max-model-len, --context-length or --max_seq_len");
  return {};
}

void warn_of_gpu(const HostGpus& host, const Machine& machine, const char* flag, AskedEngine& out) {
  std::string asked;
  if (names_other_gpu(host.kind, machine)) asked = fmt::format("asks for GPUs '{:.40}'", host.kind);
  else if (is_other_vendor(host.vendor, machine)) asked = fmt::format("is for {}", host.vendor);
  if (asked.empty()) return;
  out.other_gpus =
      fmt::format("the launch {}, and the forecast is for {}: {} chooses others", asked, machine.name, flag);
  out.warnings.push_back(out.other_gpus);
}

/// What SGLang's releases do by themselves for networks with an indexer: sgl-project/sglang issue 11358 and pull
/// request 13646; python/sglang/srt/server_args.py, is_deepseek_nsa.
void say_habits(const EngineSettings& s, const NetworkSpec& network, const std::string& engine, const ToldFlags& told,
    AskedEngine& out) {
  if (engine != "sglang" || network.sparse.top_k == 0 || network.latent.kv_rank == 0) return;
  if (s.groups == 1 && s.tp > 1 && !told.contains("--tp") && !told.contains("--dp-attention"))
    out.notes.push_back(
        fmt::format("releases of October to December 2025 make a group of attention of each rank by themselves: --tp 1 "
                    "--dp-attention {}",
            s.tp));
  if ((s.cache.empty() || s.cache == "auto") && !told.contains("--kv") && !told.contains("--machine"))
    out.notes.emplace_back("on Blackwell its cache is of fp8 where nothing is said: --machine, or --kv fp8");
}

/// What the file in front says of its types, where the name of the checkpoint tells no other weights.
void put_stored(const StoredWeights& stored, Checkpoint& checkpoint) {
  if (checkpoint.weights.empty() && checkpoint.refused.empty()) checkpoint.weights = stored.type;
  if (checkpoint.weights != stored.type) return;
  checkpoint.cache = stored.cache, checkpoint.cache_how = stored.cache_how;
}

/// By the names of the variables, which may be defined.
std::string open_model(const SaidArguments& said) {
  for (const GivenArgument& given : said.all) {
    const std::string_view name = counted_name(said.table(), given.name);
    if ((name == "model" || name == "model_path") && said.counts(given) && !given.unset.empty())
      return fmt::format("its model hangs on ${}, which nothing sets (--define {}=... does)", given.unset.front(),
          given.unset.front());
  }
  return "its model hangs on what nothing sets";
}

/// Arguments that stretch positions, or say how many there are: vLLM's and SGLang's names of values over config.json.
bool stretches_positions(const SaidArguments& said) {
  return std::ranges::any_of(said.all, [&](const GivenArgument& given) {
    const std::string_view name = counted_name(said.table(), given.name);
    return said.counts(given) && (name.find("rope_scaling") != name.npos || name.find("rope_parameters") != name.npos ||
                                     name.find("max_position_embeddings") != name.npos);
  });
}

/// Of the checkpoint; 0: not told, or the launch says others. A network of the catalogue does not tell those of a
/// checkpoint that is not its own.
std::int64_t positions_of(const SaidArguments& said, const EngineSettings& settings, const std::string& network) {
  if (stretches_positions(said)) return 0;
  if (run::names_a_file(network)) return turned_positions(network);
  if (settings.model_open || settings.model.empty()) return published_positions(network, network);
  return checkpoint_of(settings.model).network == network ? published_positions(network, settings.model) : 0;
}

/// What engines do that are told to take longer requests than the network has positions for. vllm/config/model.py,
/// _get_and_verify_max_len (ValueError), and sglang/srt/configs/model_config.py (ValueError), each with the variable
/// that lets it and its words (vllm/envs.py; sglang/srt/environ.py, EnvBool); TensorRT-LLM's
/// _torch/pyexecutor/model_engine.py, _init_max_seq_len, takes the network's and goes on.
struct LongRequests {
  std::string_view engine;
  const char *name, *variable;
  std::string_view words = "1 true";  ///< of the variable, that let it
  bool clips = false;                 ///< without the variable it takes the network's
};
constexpr std::array long_requests = {LongRequests{"vllm", "vLLM", "VLLM_ALLOW_LONG_MAX_MODEL_LEN"},
    LongRequests{"sglang", "SGLang", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"},
    LongRequests{"tensorrt-llm", "TensorRT-LLM", "TLLM_ALLOW_LONG_MAX_MODEL_LEN", "1 true yes y", true}};

bool names_word(std::string_view words, const std::string& word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

/// Positions of the longest request that a pool takes; 0: it is not told. Errors: more than the network has.
Expected<std::int64_t> longest_request(
    const EnginePool& pool, std::optional<std::int64_t> said, std::int64_t positions, AskedEngine& out) {
  if (!said || *said <= 0 || positions == 0 || *said <= positions) return said.value_or(0);
  const auto row = std::ranges::find(long_requests, pool.server.program->engine, &LongRequests::engine);
  if (row == long_requests.end()) return *said;
  const auto lets = pool.environment.find(row->variable);
  if (lets != pool.environment.end() && names_word(row->words, lower_case(lets->second))) return *said;
  if (row->clips) {
    out.notes.push_back(fmt::format(
        "the network has {} positions: {} takes no longer requests, whatever the launch says", positions, row->name));
    return positions;
  }
  return fail(pool.server.where,
      fmt::format("requests of {} positions, and the network has {}: {} does not start", *said, positions, row->name),
      fmt::format("at most {}, values of rope_scaling that stretch them, or {}=1", positions, row->variable));
}

/// What becomes of sequences that give way. A told way goes over the launch's, with its space.
Expected<void> put_swapping(
    const EngineSettings& s, const SaidArguments& said, const ToldFlags& told, bool lenient, AskedEngine& out) {
  const auto way = told.find("--preemption");
  if (!s.swaps.value_or(false) || (way != told.end() && way->second == "recompute")) return {};
  const auto given = std::ranges::find_if(said.all, [&](const GivenArgument& each) {
    return said.counts(each) && counted_name(said.table(), each.name) == "preemption_mode";
  });
  const std::string where = given == said.all.end() ? said.where : place_of_argument(said, *given);
  if (out.row.swapping.when != SwapsWhen::asked) {
    const std::string what = fmt::format("{} reads sequences that give way again", out.row.name);
    if (!lenient)
      return fail(where, what, "--engine vllm-v0, whose releases keep them in the host's memory, or recompute");
    out.warnings.push_back(fmt::format("{}: {}", where, what));
    return {};
  }
  if (s.swap_space && !(*s.swap_space > 0))
    return fail(where, "no memory of the host for sequences that give way: the engine stops as the first one does",
        "--swap-space 4, or --preemption-mode recompute");
  out.flags["--preemption"] = "swap";
  if (s.swap_space) out.flags["--swap-space"] = fmt::format("{:g}", *s.swap_space);
  return {};
}

/// Sizes count and are read by nobody: a row of the tables that no reader asks for.
void check_read(const SaidArguments& said, AskedEngine& out) {
  for (const GivenArgument& given : said.all)
    if (said.counts(given) && standing_of(said, given) == Standing::used &&
        !said.was_asked(counted_name(said.table(), given.name)))
      out.warnings.push_back(fmt::format("{} is not read", place_of_argument(said, given)));
}

/// Of an iteration one of two pools is meant: with --phase prefill the one that reads prompts, which takes the place of
/// the other.
bool takes_prompts(EngineLaunch& launch, const ToldFlags& told, const LaunchUse& use) {
  const auto phase = told.find("--phase");
  if (!launch.prompts || use.load || phase == told.end() || phase->second != "prefill") return false;
  const EnginePool prompts = *launch.prompts;
  launch.prompts.reset();
  static_cast<EnginePool&>(launch) = prompts;
  return true;
}

}  // namespace

Expected<AskedEngine> asked_engine(EngineLaunch& launch, const std::map<std::string, std::string, std::less<>>& told,
    const std::string& network, const LaunchUse& use) {
  AskedEngine out;
  const bool of_prompts = takes_prompts(launch, told, use);
  TRY(const auto settings, engine_settings(launch.server));
  const auto told_as = [&](const char* flag) {
    const auto found = told.find(flag);
    return found == told.end() ? std::string() : found->second;
  };
  Checkpoint checkpoint = settings.model_open ? Checkpoint{} : checkpoint_of(settings.model);
  out.network = network.empty() ? checkpoint.network : network;
  if (out.network.empty())
    return fail(launch.server.where,
        settings.model_open      ? open_model(launch.server)
        : settings.model.empty() ? "it names no model"
                                 : fmt::format("its model {:.80} is no network of the catalogue", settings.model),
        "the network in front: a catalogue id or a config.json, stepcast serve llama3-70b --launch FILE");
  if (network.empty()) out.notes = checkpoint.notes;
  TRY(const auto spec, run::choose_network(out.network, "network"));
  checkpoint = as_stored(std::move(checkpoint), spec.row.id);
  if (checkpoint.weights.empty() && checkpoint.refused.empty() && launch.precision == "mxfp4") {
    checkpoint.weights = launch.precision;
    out.notes.push_back("--weights mxfp4: the file says it of the model");
  }
  if (run::names_a_file(out.network)) put_stored(stored_weights_of_file(out.network), checkpoint);
  const std::string machine = told_as("--machine");
  TRY(const auto where, run::choose_machine(machine.empty() ? "dgx-h100" : machine, "--machine"));
  warn_of_gpu(launch.host, where.row, "--machine", out);
  const std::string engine(launch.server.program->engine);
  TRY(auto types, number_types_of(settings, checkpoint, {engine, release_of(launch, told), &spec.row, &where.row.gpu},
                      {told_as("--weights"), told_as("--kv"), {}}));
  if (types.weights == "bf16" && where.row.gpu.peak[static_cast<int>(Precision::bf16)].value() <= 0)
    types.weights = "fp16";
  out.flags["--weights"] = types.weights, out.flags["--kv"] = types.cache;
  out.notes.insert(out.notes.end(), types.notes.begin(), types.notes.end());
  out.notes.insert(out.notes.end(), settings.notes.begin(), settings.notes.end());
  out.notes.insert(out.notes.end(), launch.notes.begin(), launch.notes.end());
  if (use.load) {
    TRY(settle_copies(launch, "--replicas", told, use.lenient, out));
  }
  say_habits(settings, spec.row, engine, told, out);
  out.positions = positions_of(launch.server, settings, out.network);
  TRY(put_pool(settings, launch, spec.row, where.row.gpu, told, out));
  out.flags["--engine"] = out.row.id;
  TRY(out.longest, longest_request(launch, settings.longest, out.positions, out));
  out.longest_fits = settings.longest_fits;
  std::int64_t longest_prompt = 0;
  if (launch.prompts && use.load) {
    TRY(settle_copies(*launch.prompts, "--prefill-replicas", told, use.lenient, out));
    const std::string reads_on = told_as("--prefill-machine");
    const run::Chosen<Machine>* reads = &where;
    std::optional<run::Chosen<Machine>> other;
    if (!reads_on.empty()) {
      TRY(other, run::choose_machine(reads_on, "--prefill-machine"));
      reads = &*other;
      warn_of_gpu(launch.prompts->host, reads->row, "--prefill-machine", out);
    }
    TRY(const auto prompt_settings, engine_settings(launch.prompts->server));
    const std::int64_t prompt_positions = positions_of(launch.prompts->server, prompt_settings, out.network);
    TRY(longest_prompt, longest_request(*launch.prompts, prompt_settings.longest, prompt_positions, out));
    TRY(put_prompts(*launch.prompts, {settings, types, checkpoint, told}, spec.row, reads->row.gpu, out));
  } else if (launch.prompts || of_prompts) {
    out.notes.push_back(
        fmt::format("of two pools the one that {} is meant", of_prompts ? "reads prompts" : "says tokens"));
  }
  TRY(put_swapping(settings, launch.server, told, use.lenient, out));
  TRY(put_guesses(settings, launch.server.where, use.guesses, use.lenient, out));
  if (use.load) {
    TRY(take_load(launch, settings, told, out));
    TRY(check_prompts(longest_prompt, launch, told, out));
  } else {
    TRY(check_iteration(launch, out.longest, told));
  }
  for (const auto& [flag, value] : told) out.flags[flag] = value;
  check_read(launch.server, out);
  if (launch.prompts && use.load) check_read(launch.prompts->server, out);
  if (use.load && launch.bench && open_part(*launch.bench) == nullptr) check_read(*launch.bench, out);
  return out;
}

}  // namespace stepcast::engines
