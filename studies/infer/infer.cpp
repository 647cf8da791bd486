#include "studies/infer/infer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/infer/phases.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

struct Asked {
  ServingWishes wishes;
  std::string phase;
  std::int64_t prompt = 0, cached = 0, output = 0, context = 0, batch = 1;
  Guesses guesses;
};

std::int64_t number_of(const Arguments& arguments, const char* flag, std::int64_t absent) {
  return arguments.has(flag) ? std::stoll(arguments.value(flag)) : absent;
}

Expected<Asked> asked_of(const Arguments& arguments) {
  Asked asked;
  asked.wishes = engine_wishes(arguments);
  ServingWishes& w = asked.wishes;
  w.draft = number_of(arguments, "--draft", 0);
  if (w.draft > 0 && !arguments.has("--accepted"))
    return fail("--accepted", "how many of the guesses are right is not said",
        "--accepted 0.8: of each guess, where those before it were right");
  if (arguments.has("--accepted")) {
    TRY(asked.guesses.accepted, parse_fraction(arguments.value("--accepted"), "--accepted"));
  }
  asked.prompt = number_of(arguments, "--prompt", 0), asked.output = number_of(arguments, "--output", 0);
  asked.cached = number_of(arguments, "--cached", 0), asked.context = number_of(arguments, "--context", 0);
  asked.batch = number_of(arguments, "--batch", 1);
  asked.phase = arguments.value("--phase");
  if (asked.phase.empty()) asked.phase = asked.context > 0 ? "decode" : asked.output > 0 ? "batch" : "prefill";
  const bool decodes = asked.phase == "decode" || asked.phase == "mixed";
  if (asked.phase == "mixed" && w.draft > 0)
    return fail("--draft", "guesses beside prompts in one iteration", "--phase decode, or batch");
  if (decodes && asked.context == 0) return fail("--context", "what stands in the cache is not said", "--context 8192");
  if (asked.phase != "decode" && asked.prompt == 0)
    return fail("--prompt", "how long the prompts are is not said", "--prompt 4096");
  if (asked.phase == "batch" && asked.output == 0)
    return fail("--output", "how many words are said is not said", "--output 512");
  return asked;
}

Expected<void> check_phase(const std::string& text, const std::string& where) {
  for (const char* phase : {"prefill", "decode", "mixed", "batch"})
    if (text == phase) return {};
  return fail(where, fmt::format("unknown phase '{:.40}'", text),
      "prefill, decode, mixed for a prompt beside words, or batch for one after the other");
}

Expected<void> check_share(const std::string& text, const std::string& where) {
  TRY(parse_fraction(text, where));
  return {};
}

/// The network's positions, and what the cache holds.
Expected<void> check_room(const Serving& serving, const Asked& asked, const Capacity& room) {
  const std::int64_t length = asked.context + asked.cached + asked.prompt + asked.output;
  const NetworkSpec& network = serving.network();
  if (network.positions == Positions::learned && length > network.max_positions)
    return fail(asked.context > 0 ? "--context" : "--prompt",
        fmt::format("{} positions, and {} has learned positions for {}", length, network.id, network.max_positions),
        fmt::format("at most {}", network.max_positions));
  if (room.cache <= 0)
    return fail("--weights",
        fmt::format("{} of weights leave nothing of {} for the cache", format_bytes(Bytes(room.weights)),
            format_bytes(Bytes(room.memory))),
        "more --tp or --pp, or narrower --weights");
  if (room.sequences == 0)
    return fail(asked.context > 0 ? "--context" : "--prompt",
        fmt::format("one sequence of {} positions needs {} of cache, and a GPU has {}", length,
            format_bytes(Bytes(room.bytes_per_position * static_cast<double>(length))),
            format_bytes(Bytes(room.cache))),
        fmt::format("at most {} positions, or a narrower --kv", room.positions));
  if ((asked.phase == "decode" || asked.phase == "mixed") && asked.batch > room.sequences)
    return fail("--batch",
        fmt::format("{} sequences of {} positions, and the cache holds {}", asked.batch, length, room.sequences),
        fmt::format("--batch {}", room.sequences));
  return {};
}

Phase phase_of(const Serving& serving, const Asked& asked) {
  if (asked.phase == "decode") return decode(serving, asked.batch, asked.context, asked.guesses);
  if (asked.phase == "mixed")
    return mixed(
        serving, asked.batch, asked.context, {1, static_cast<double>(asked.prompt), static_cast<double>(asked.cached)});
  if (asked.phase == "batch") return static_batch(serving, asked.batch, asked.prompt, asked.output, asked.guesses);
  return prefill(serving, asked.batch, asked.prompt, asked.cached);
}

/// Positions that are read, or words that are said.
double words_of(const Asked& asked, const Phase& phase) {
  const auto batch = static_cast<double>(asked.batch);
  if (asked.phase == "prefill") return batch * static_cast<double>(asked.prompt);
  return asked.phase == "batch" ? batch * static_cast<double>(asked.output) : batch * phase.words;
}

/// Of one user, while words are said; nullopt: none are.
std::optional<double> words_per_user(const Asked& asked, const Phase& phase) {
  if (asked.phase == "prefill" || (asked.phase == "batch" && asked.output <= 1)) return std::nullopt;
  if (asked.phase == "batch") return static_cast<double>(asked.output - 1) * phase.waves / phase.decode.value();
  return phase.words / phase.time.value();
}

/// What an iteration waits for, the longest first.
std::vector<std::pair<std::string, double>> bindings_of(const sim::IterationTime& iteration) {
  std::map<std::string, double> shares;
  for (const sim::IterationPart& part : iteration.parts) shares[to_text(part.binding)] += part.time / iteration.time;
  shares[to_text(sim::Binding::host)] += iteration.host / iteration.time;
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::string, double>::second);
  std::erase_if(sorted, [](const auto& share) { return share.second < 0.0005; });  // prints as nothing
  return sorted;
}

/// Parts that take a hundredth of the iteration or more, at shapes that their laws have not seen.
std::vector<std::string> warnings_of(const sim::IterationTime& iteration) {
  std::vector<std::string> warnings;
  for (const sim::IterationPart& part : iteration.parts)
    if (part.extrapolated && part.time / iteration.time >= 0.01)
      warnings.push_back(fmt::format("{} ({}): beyond the sizes that its law was fitted on; it takes {}", part.label,
          part.shape.empty() ? "collective" : part.shape, format_percent(part.time / iteration.time)));
  return warnings;
}

std::string json_of(const Serving& serving, const Asked& asked, const Phase& phase, const Capacity& room) {
  JsonWriter json;
  json.open();
  json.fields("network", serving.network().id, "machine", serving.machine().id, "engine", serving.engine.id, "profile",
      serving.profile->id, "phase", asked.phase, "gpus", static_cast<double>(serving.scenario.plan.gpus), "batch",
      static_cast<double>(asked.batch));
  json.base_field("time_s", phase.time);
  json.field("interval_s",
      std::vector<double>{(phase.time * phase.spread.p10).value(), (phase.time * phase.spread.p90).value()});
  if (asked.phase == "batch") {
    json.base_field("prefill_s", phase.prefill);
    json.base_field("decode_s", phase.decode);
  }
  json.field("tokens_per_s", words_of(asked, phase) / phase.time.value());
  json.field("tokens_per_s_per_gpu",
      words_of(asked, phase) / phase.time.value() / static_cast<double>(serving.scenario.plan.gpus));
  if (const auto user = words_per_user(asked, phase)) json.field("tokens_per_s_per_user", *user);
  if (serving.draft > 0) json.field("tokens_per_iteration", phase.words);
  const sim::IterationTime& shown = phase.shown;
  json.open("binds");
  for (const auto& [what, share] : bindings_of(shown)) json.field(what, share);
  json.close();
  json.base_field("kernels_s", shown.kernels);
  json.base_field("moves_s", shown.moves);
  json.base_field("host_s", shown.host);
  json.field("launches", shown.launches);
  json.field("warnings", warnings_of(shown));
  json.open_list("parts");
  for (const sim::IterationPart& part : shown.parts) {
    json.open();
    json.fields("label", part.label, "shape", part.shape, "calls", part.calls);
    json.base_field("time_s", part.time);
    json.fields(
        "bytes", part.bytes.value(), "flops", part.flops.value(), "source", to_text(part.source), "move", part.is_move);
    json.close();
  }
  json.close();
  json.open("memory");
  json.fields("gpu_bytes", room.memory, "weights_bytes", room.weights, "cache_bytes", room.cache,
      "cache_bytes_per_position", room.bytes_per_position, "positions", static_cast<double>(room.positions),
      "sequences", static_cast<double>(room.sequences));
  json.close();
  json.close();
  return json.text() + "\n";
}

std::string text_of(
    const Serving& serving, const Asked& asked, const Phase& phase, const Capacity& room, const Console& console) {
  const print::Paint paint(console);
  std::string text =
      fmt::format("{} on {} x {}, {}, tp {}, pp {}\n", serving.network().name, serving.scenario.plan.gpus,
          serving.machine().gpu.name, serving.engine.name, serving.scenario.split->tp, serving.scenario.split->pp);
  print::Table head({{""}, {"", print::Align::right}, {""}});
  const auto interval = fmt::format("{} to {} (10th to 90th percentile)", format_seconds(phase.time * phase.spread.p10),
      format_seconds(phase.time * phase.spread.p90));
  head.add({paint.bold(asked.phase), paint.bold(format_seconds(phase.time)), interval});
  if (asked.phase == "batch")
    head.add({"prefill", format_seconds(phase.prefill), fmt::format("decode {}", format_seconds(phase.decode))});
  const double rate = words_of(asked, phase) / phase.time.value();
  head.add({"tokens/s/GPU", print::grouped_digits(rate / static_cast<double>(serving.scenario.plan.gpus)),
      fmt::format("{} tokens/s in all", print::grouped_digits(rate))});
  if (const auto user = words_per_user(asked, phase))
    head.add({"tokens/s/user", fmt::format("{:.1f}", *user),
        serving.draft > 0
            ? fmt::format("{:.2f} words an iteration, with {} guesses before it", phase.words, serving.draft)
            : ""});
  text += "\n" + head.text("");
  const sim::IterationTime& shown = phase.shown;
  text += fmt::format("\nOne iteration  {}: kernels {}, collectives {}, host {}\n", format_seconds(shown.time),
      format_seconds(shown.kernels), format_seconds(shown.moves), format_seconds(shown.host));
  std::vector<std::string> binds;
  for (const auto& [what, share] : bindings_of(shown))
    binds.push_back(fmt::format("{} {}", what, format_percent(share)));
  text += fmt::format("What binds  {}\n", fmt::join(binds, ", "));
  print::Table parts({{"  kernel or move"}, {"shape"}, {"calls", print::Align::right}, {"time", print::Align::right},
      {"share", print::Align::right}, {"source"}});
  for (const sim::IterationPart& part : shown.parts)
    parts.add({"  " + part.label, part.shape, fmt::format("{:.0f}", part.calls), format_seconds(part.time),
        format_percent(part.time / shown.time), to_text(part.source)});
  text += parts.text("");
  text += fmt::format(
      "\nMemory  one GPU: {} of weights, {} for the cache: {} positions of {:.0f} bytes, {} sequences\n",
      format_bytes(Bytes(room.weights)), format_bytes(Bytes(room.cache)), print::grouped_digits(double(room.positions)),
      room.bytes_per_position, print::grouped_digits(double(room.sequences)));
  text += fmt::format("  {} of activations for {} positions, {} of workspace, graphs and NCCL (assumed)\n",
      format_bytes(Bytes(room.activations)), print::grouped_digits(double(room.activation_positions)),
      format_bytes(Bytes(room.reserved)));
  const std::vector<std::string> warnings = warnings_of(shown);
  if (!warnings.empty()) text += "\n";
  for (const std::string& warning : warnings) text += fmt::format("{}: {}\n", paint.bold("warning"), warning);
  if (!serving.assumptions.empty())
    text += fmt::format("\nDefaults and assumptions\n  {}\n", fmt::join(serving.assumptions, ", "));
  return text;
}

constexpr std::string_view hardware = "Machine and engine", split = "Split";

}  // namespace

std::span<const Flag> infer_flags() {
  constexpr std::string_view work = "Work", output = "Output";
  constexpr std::int64_t most = 100'000'000;
  const auto count = [](std::string_view name, std::string_view group, std::string_view doc, std::int64_t upper) {
    return Flag{
        .name = name, .key = "", .value = "N", .group = group, .doc = doc, .kind = FlagKind::count, .most = upper};
  };
  static const std::vector<Flag> flags = {
      {.name = "--machine", .key = "", .value = "ID", .group = hardware, .doc = "machine or file (default dgx-h100)"},
      {.name = "--engine", .key = "", .value = "ID", .group = hardware, .doc = "serving engine or file (default vllm)"},
      {.name = "--profile",
          .key = "",
          .value = "ID|FILE",
          .group = hardware,
          .doc = "laws of kernels (default: the profile of the machine's GPU)"},
      {.name = "--weights",
          .key = "",
          .value = "TYPE",
          .group = hardware,
          .doc = "number type of the weights: bf16, fp8, fp8-block, nvfp4, mxfp4, int4, ..."},
      {.name = "--products",
          .key = "",
          .value = "TYPE",
          .group = hardware,
          .doc = "what products multiply (default: the weights')"},
      {.name = "--kv", .key = "", .value = "TYPE", .group = hardware, .doc = "number type of the cache (default bf16)"},
      count("--gpus", split, "GPUs of one replica (default tp x pp)", 10'000'000),
      count("--tp", split, "tensor parallel ways", 32'768), count("--pp", split, "pipeline stages", 32'768),
      count(
          "--ep", split, "ranks that the experts are spread over (default 1: each has a part of every expert)", 32'768),
      {.name = "--exchange",
          .key = "",
          .value = "WAY",
          .group = split,
          .doc = "of tokens with experts of other groups: gather, or rows (default: the engine's)"},
      count("--dp-attention", split, "groups of tp ranks with sequences of their own, which share the experts", 32'768),
      {.name = "--phase",
          .key = "",
          .value = "PHASE",
          .group = work,
          .doc =
              "prefill, decode, mixed: a prompt beside running sequences, or batch: prompts and all words behind them",
          .check = check_phase},
      count("--prompt", work, "positions of each prompt", most), count("--cached", work, "of them in the cache", most),
      count("--context", work, "decode: positions in the cache", most),
      count("--output", work, "batch: words of each sequence", most),
      count("--batch", work, "sequences of the replica (default 1)", most),
      count("--draft", work, "words that a layer of its own guesses before each iteration (MTP, EAGLE)", 7),
      {.name = "--accepted",
          .key = "",
          .value = "SHARE",
          .group = work,
          .doc = "of the guesses, each where those before it were right",
          .check = check_share},
      {.name = "--json",
          .key = "",
          .value = "",
          .group = output,
          .doc = "one JSON document with base units",
          .kind = FlagKind::toggle}};
  return flags;
}

std::vector<Flag> engine_flags() {
  std::vector<Flag> flags;
  for (const Flag& flag : infer_flags())
    if (flag.group == hardware || flag.group == split) flags.push_back(flag);
  return flags;
}

ServingWishes engine_wishes(const Arguments& arguments) {
  ServingWishes w;
  w.network = arguments.words.at(0);
  w.machine = arguments.value("--machine"), w.engine = arguments.value("--engine");
  w.profile = arguments.value("--profile");
  w.weights = arguments.value("--weights"), w.cache = arguments.value("--kv");
  w.products = arguments.value("--products");
  w.gpus = number_of(arguments, "--gpus", 0);
  w.tp = number_of(arguments, "--tp", 1), w.pp = number_of(arguments, "--pp", 1);
  w.ep = number_of(arguments, "--ep", 1), w.attention_dp = number_of(arguments, "--dp-attention", 1);
  w.exchange = arguments.value("--exchange");
  return w;
}

Expected<void> infer_command(const Arguments& arguments, Console& console) {
  TRY(const auto asked, asked_of(arguments));
  TRY(const auto serving, serving_of(asked.wishes));
  const std::int64_t length = asked.context + asked.cached + asked.prompt + asked.output;
  const Capacity room = capacity(serving, std::max<std::int64_t>(2, length));
  TRY(check_room(serving, asked, room));
  const Phase phase = phase_of(serving, asked);
  console.out << (arguments.has("--json") ? json_of(serving, asked, phase, room)
                                          : text_of(serving, asked, phase, room, console));
  return {};
}

}  // namespace stepcast::infer
