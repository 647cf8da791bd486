#include "studies/infer/asked.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "studies/cli/flag_values.h"
#include "studies/engines/positions/context_length.h"
#include "studies/infer/serving_split.h"
#include "studies/infer/start_rules.h"

namespace stepcast::infer {

ServingWishes engine_wishes(const Arguments& arguments) {
  ServingWishes w;
  w.network = arguments.words.at(0);
  w.machine = arguments.value("--machine"), w.engine = arguments.value("--engine");
  w.profile = arguments.value("--profile");
  w.weights = arguments.value("--weights"), w.cache = arguments.value("--kv");
  w.products = arguments.value("--products");
  w.gpus = count_of(arguments, "--gpus", 0);
  w.tp = count_of(arguments, "--tp", 1), w.pp = count_of(arguments, "--pp", 1);
  w.ep = count_of(arguments, "--ep", 1), w.attention_dp = count_of(arguments, "--dp-attention", 1);
  w.node_gpus = count_of(arguments, "--node-gpus", 0);
  w.layout = arguments.value("--layout");
  w.spare_experts = count_of(arguments, "--spare-experts", 0);
  w.exchange = arguments.value("--exchange");
  w.cp = count_of(arguments, "--cp", 1), w.dcp = count_of(arguments, "--dcp", 1);
  w.context = arguments.value("--cp-way");
  return w;
}

namespace {

/// What each phase asks; what it does not would be left out in silence.
struct PhaseFlag {
  std::string_view flag, phases, hint;
};
constexpr PhaseFlag phase_flags[] = {
    {"--prompt", "prefill mixed batch", "--phase mixed, for a prompt beside running sequences"},
    {"--cached", "prefill mixed", "--phase prefill"}, {"--context", "decode mixed", "--phase decode, or mixed"},
    {"--output", "batch", "--phase batch, with --prompt"},
    {"--draft", "decode batch", "--phase decode, or batch: prompts are not guessed"},
    {"--accepted", "decode batch", "--phase decode, or batch, with --draft"}};

Expected<void> check_phase_flags(const Arguments& typed, const std::string& phase) {
  for (const PhaseFlag& row : phase_flags)
    if (typed.has(row.flag) && row.phases.find(phase) == std::string_view::npos)
      return fail(std::string(row.flag), fmt::format("is not of phase {}, which would leave it out", phase),
          std::string(row.hint));
  return {};
}

/// Over both pools, where prompts have one of their own.
bool splits_by(const Arguments& arguments, std::initializer_list<const char*> flags) {
  return std::ranges::any_of(flags, [&](const char* flag) { return count_of(arguments, flag, 1) > 1; });
}

}  // namespace

Expected<void> check_ways(const Arguments& arguments, const Arguments& typed) {
  if (typed.has("--cp-way") && !splits_by(arguments, {"--cp"}))
    return fail("--cp-way", "prompts are not split by position", "--cp 2");
  const std::string way = typed.has("--exchange") ? arguments.value("--exchange") : "";
  if (way != "rows" && way != "gather") return {};  // what is no way is refused as such
  if (arguments.has("--mapping"))
    return fail("--exchange", "the mapping says how experts get their rows", "without it");
  if (!splits_by(arguments, {"--dp-attention", "--cp", "--prefill-dp-attention"}))
    return fail("--exchange", "all ranks see the same tokens: none go to experts of other groups",
        "--dp-attention 2, or without it");
  if (way == "rows" && !splits_by(arguments, {"--ep", "--prefill-ep"}))
    return fail("--exchange", "each rank has a part of every expert, for which all tokens are gathered",
        "--ep 2, or --exchange gather");
  return {};
}

namespace {

/// vLLM's unit of its swap space.
constexpr double gibi = 1024.0 * 1024 * 1024;

Expected<Bytes> parse_gibi(const std::string& text, const std::string& where) {
  const auto number = parsed_number<double>(text);
  constexpr double most = 1e6;
  if (!number || !(*number > 0 && *number <= most))
    return fail(where, fmt::format("'{:.40}' is no space", text), "GiB for each GPU, above 0: 4");
  return Bytes(*number * gibi);
}

}  // namespace

Expected<void> check_swap_space(const std::string& text, const std::string& where) {
  TRY(parse_gibi(text, where));
  return {};
}

Expected<void> check_preemption(const std::string& text, const std::string& where) {
  if (text == "swap" || text == "recompute") return {};
  return fail(where, fmt::format("unknown way '{:.40}'", text), "swap or recompute");
}

Expected<void> read_swapping(const Arguments& arguments, BatchingWishes& wishes) {
  if (arguments.has("--preemption")) wishes.swaps = arguments.value("--preemption") == "swap";
  if (!arguments.has("--swap-space")) return {};
  TRY(wishes.swap_space, parse_gibi(arguments.value("--swap-space"), "--swap-space"));
  return {};
}

Expected<std::int64_t> guesses_of(const Arguments& arguments, Guesses& guesses) {
  const bool drafts = arguments.has("--draft"), accepted = arguments.has("--accepted");
  if (accepted && !drafts) return fail("--accepted", "no tokens are guessed", "--draft 2");
  if (!drafts) return 0;
  if (!accepted)
    return fail("--accepted", "how many of the guesses are right is not said",
        "--accepted 0.8: of each guess, where those before it were right");
  TRY(guesses.accepted, parse_fraction(arguments.value("--accepted"), "--accepted"));
  return count_of(arguments, "--draft", 0);
}

Expected<Asked> asked_of(const Arguments& arguments, const Arguments& typed) {
  Asked asked;
  asked.wishes = engine_wishes(arguments);
  ServingWishes& w = asked.wishes;
  if (arguments.has("--mapping")) {
    w.mapping.where = arguments.value("--mapping");
    TRY(w.mapping.text, read_text_file(w.mapping.where));
  }
  if (arguments.has("--prompts-mapping")) {
    w.prompts_mapping.where = arguments.value("--prompts-mapping");
    TRY(w.prompts_mapping.text, read_text_file(w.prompts_mapping.where));
  }
  asked.phase = arguments.value("--phase");
  if (asked.phase.empty())
    asked.phase = arguments.has("--context") ? "decode" : arguments.has("--output") ? "batch" : "prefill";
  TRY(check_phase_flags(typed, asked.phase));
  TRY(check_ways(arguments, typed));
  const bool words = asked.phase == "decode" || asked.phase == "batch";
  if (words) {  // else they are a launch's
    TRY(w.draft, guesses_of(arguments, asked.guesses));
  }
  asked.prompt = count_of(arguments, "--prompt", 0), asked.output = count_of(arguments, "--output", 0);
  asked.cached = count_of(arguments, "--cached", 0), asked.context = count_of(arguments, "--context", 0);
  asked.batch = count_of(arguments, "--batch", 1);
  const bool decodes = asked.phase == "decode" || asked.phase == "mixed";
  if (decodes && asked.context == 0) return fail("--context", "what stands in the cache is not said", "--context 8192");
  if (asked.phase != "decode" && asked.prompt == 0)
    return fail("--prompt", "how long the prompts are is not said", "--prompt 4096");
  if (asked.phase == "batch" && asked.output == 0)
    return fail("--output", "how many tokens come out is not said", "--output 512");
  return asked;
}

namespace {

/// Positions of the longest sequence, and the flag that says it. A step of decode adds one. Running sequences and a
/// prompt beside them are of others.
struct LongestSequence {
  std::int64_t positions = 0;
  const char* flag = "";
  std::int64_t added = 0;  ///< of `positions`, by the step
};
LongestSequence longest_sequence(const Asked& asked) {
  const bool mixed = asked.phase == "mixed", grows = mixed || asked.phase == "decode";
  const std::int64_t prompt = asked.cached + asked.prompt + asked.output, running = asked.context + (grows ? 1 : 0);
  if (mixed && prompt > running) return {prompt, "--prompt"};
  if (mixed) return {running, "--context", 1};
  const std::int64_t added = grows ? 1 : 0;
  return {length_of(asked) + added, asked.context > 0 ? "--context" : "--prompt", added};
}

/// The network's positions, and what the cache holds.
Expected<void> check_room(const Serving& serving, const Asked& asked, const Capacity& room) {
  const LongestSequence longest = longest_sequence(asked);
  const NetworkSpec& network = serving.network();
  if (network.positions == Positions::learned && longest.positions > network.max_positions)
    return fail(longest.flag,
        fmt::format(
            "{} positions, and {} has learned positions for {}", longest.positions, network.id, network.max_positions),
        fmt::format("at most {}", network.max_positions - longest.added));
  if (sees_picked_blocks(network, longest.positions))
    return fail(longest.flag,
        fmt::format("{} positions, and beyond {} queries of {} see picked keys, and {}", longest.positions,
            network.dense_positions, network.id, unpicked_reason(network)),
        fmt::format("at most {}{}", network.dense_positions - longest.added, unpicked_hint(network)));
  if (room.cache <= 0)
    return fail("--weights",
        fmt::format("{} of weights leave nothing of {} for the cache", format_bytes(Bytes(room.weights)),
            format_bytes(Bytes(room.memory))),
        "more --tp or --pp, or narrower --weights");
  const std::int64_t held = held_of(asked);
  if (room.sequences == 0)
    return fail(asked.context > 0 ? "--context" : "--prompt",
        fmt::format("one sequence of {} positions needs {} of cache, and a GPU has {}", held,
            format_bytes(Bytes(room.bytes_per_position * static_cast<double>(held))), format_bytes(Bytes(room.cache))),
        fmt::format("at most {} positions, or a narrower --kv", room.positions));
  if ((asked.phase == "decode" || asked.phase == "mixed") && asked.batch > room.sequences)
    return fail("--batch",
        fmt::format("{} sequences of {} positions, and the cache holds {}", asked.batch, held, room.sequences),
        fmt::format("--batch {}", room.sequences));
  return {};
}

}  // namespace

std::int64_t length_of(const Asked& asked) {
  return std::max<std::int64_t>(2, asked.context + asked.cached + asked.prompt + asked.output);
}

std::int64_t held_of(const Asked& asked) { return length_of(asked) + (asked.phase == "decode" ? 1 : 0); }

Phase phase_of(const Serving& serving, const Asked& asked) {
  if (asked.phase == "decode") return decode(serving, asked.batch, asked.context, asked.guesses);
  if (asked.phase == "mixed")
    return mixed(
        serving, asked.batch, asked.context, {1, static_cast<double>(asked.prompt), static_cast<double>(asked.cached)});
  if (asked.phase == "batch") return static_batch(serving, asked.batch, asked.prompt, asked.output, asked.guesses);
  return prefill(serving, asked.batch, asked.prompt, asked.cached);
}

Expected<Answer> answer_to(const Asked& asked) {
  Answer answer;
  TRY(answer.serving, serving_of(asked.wishes));
  if (answer.serving.prompts_alone && asked.phase != "prefill") return tl::unexpected(*answer.serving.prompts_alone);
  if (answer.serving.words_alone && asked.phase != "decode")
    return fail(answer.serving.words_alone->where, answer.serving.words_alone->what,
        "--prompts-mapping FILE: how prompts are split, or --phase decode");
  answer.room = capacity(answer.serving, held_of(asked));
  const ServingWishes& wishes = asked.wishes;
  const std::int64_t positions = wishes.positions ? *wishes.positions : engines::context_length(wishes.network);
  const LongestSequence longest = longest_sequence(asked);
  const auto within = check_positions(
      {longest.positions, wishes.longest, positions, longest.added}, answer.serving.engine, longest.flag);
  // Learned positions are more than the checkpoint takes by an offset (OPT's 2): the fewer of both are said.
  const NetworkSpec& network = answer.serving.network();
  const auto fits = check_room(answer.serving, asked, answer.room);
  const bool beyond = network.positions == Positions::learned && longest.positions > network.max_positions;
  if (!fits && !within && beyond) return fail(fits.error().where, fits.error().what, within.error().hint);
  TRY(fits);
  TRY(check_longest_request(answer.serving, asked.wishes.longest, {}));
  TRY(within);
  answer.phase = phase_of(answer.serving, asked);
  return answer;
}

double words_of(const Asked& asked, const Phase& phase) {
  const auto batch = static_cast<double>(asked.batch);
  if (asked.phase == "prefill") return batch * static_cast<double>(asked.prompt);
  return asked.phase == "batch" ? batch * static_cast<double>(asked.output) : batch * phase.words;
}

std::optional<double> words_per_user(const Asked& asked, const Phase& phase) {
  if (asked.phase == "prefill" || (asked.phase == "batch" && asked.output <= 1)) return std::nullopt;
  if (asked.phase == "batch") return static_cast<double>(asked.output - 1) * phase.waves / phase.decode.value();
  return phase.words / phase.time.value();
}

double words_per_gpu(const Asked& asked, const Answer& answer) {
  const auto gpus = static_cast<double>(answer.serving.scenario.plan.gpus);
  return words_of(asked, answer.phase) / answer.phase.time.value() / gpus;
}

}  // namespace stepcast::infer
