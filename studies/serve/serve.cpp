#include "studies/serve/serve.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/base/whole_number.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/flag_values.h"
#include "studies/cli/named_outputs.h"
#include "studies/cli/told.h"
#include "studies/engines/emit_engine.h"
#include "studies/engines/launch_flags.h"
#include "studies/infer/asked.h"
#include "studies/infer/infer.h"
#include "studies/print/page/page.h"
#include "studies/serve/answer.h"
#include "studies/serve/load_page.h"

namespace stepcast::serve {
namespace {

Expected<double> positive(const std::string& text, const std::string& where) {
  const auto number = parsed_number<double>(text);
  constexpr double least = 1e-6, most = 1e6;
  if (!number || !(*number >= least && *number <= most))
    return fail(where, fmt::format("'{:.40}' is no such number", text), "from 1e-6 to 1e6");
  return *number;
}
Expected<void> check_positive(const std::string& text, const std::string& where) {
  TRY(positive(text, where));
  return {};
}

bool is_load_page(const std::string& name) { return print::is_page(name, load_page_name); }
const cli::OutputForm page_forms[] = {{".html", "a page that stands alone", is_load_page}};

/// One of them says when requests come, and a trace says how long they are, too.
Expected<void> check_load(const Arguments& arguments) {
  const bool users = arguments.has("--concurrency"), rate = arguments.has("--rate"), trace = arguments.has("--trace");
  if (users + rate + trace > 1)
    return fail(trace ? "--trace" : "--rate", "requests that come in more than one way",
        "one of --concurrency, --rate and --trace");
  if (users + rate + trace == 0)
    return fail("--concurrency", "when requests come is not said",
        "--concurrency 64, --rate 4 (requests per second) or --trace FILE.csv");
  for (const char* flag : {"--input", "--output"}) {
    if (trace && arguments.has(flag)) return fail(flag, "lengths beside a trace, which has its own", "one of them");
    if (!trace && !arguments.has(flag))
      return fail(flag, "how long requests are is not said", fmt::format("{} 1024", flag));
  }
  for (const char* flag : {"--requests", "--shared", "--shortest", "--seed"})
    if (trace && arguments.has(flag)) return fail(flag, "a trace says which requests come", "without it");
  if (arguments.has("--burstiness") && !rate)
    return fail("--burstiness", "requests that do not come at a rate", "--rate 4");
  return {};
}

constexpr const char* prefill_flags[] = {"--prefill-machine", "--prefill-engine", "--prefill-gpus", "--prefill-tp",
    "--prefill-pp", "--prefill-ep", "--prefill-dp-attention", "--prefill-replicas", "--prefill-most-sequences",
    "--prefill-most-positions", "--prefill-node-gpus"};

/// GPUs that are those of several engines: how many engines there are must be said.
Expected<void> check_gpus(const infer::ServingWishes& engine, std::int64_t replicas, const std::string& prefix) {
  const std::int64_t split = engine.tp * engine.pp * engine.attention_dp * engine.cp;
  if (!engine.mapping.where.empty() || engine.gpus <= split || engine.gpus % split != 0) return {};
  return fail(prefix + "gpus",
      fmt::format("{} GPUs for {} of {}", engine.gpus * replicas,
          replicas == 1 ? std::string("an engine") : fmt::format("{} engines", replicas), split),
      fmt::format("{0}replicas {1}: as many engines beside each other, or more {0}tp, {0}pp or {0}dp-attention", prefix,
          engine.gpus / split * replicas));
}

/// A pool of its own for prompts, where a flag speaks of it: what none says of engine, machine and number types is the
/// other's.
Expected<std::optional<PromptPoolWishes>> prompt_pool(const Arguments& arguments, const infer::ServingWishes& words) {
  if (std::ranges::none_of(prefill_flags, [&](const char* flag) { return arguments.has(flag); })) return std::nullopt;
  PromptPoolWishes asked{words, {}, count_of(arguments, "--prefill-replicas", 1)};
  asked.engine.gpus = count_of(arguments, "--prefill-gpus", 0);
  if (asked.engine.gpus % asked.replicas != 0)
    return fail("--prefill-replicas", fmt::format("{} GPUs for {} replicas", asked.engine.gpus, asked.replicas),
        "a divisor of --prefill-gpus");
  asked.engine.gpus /= asked.replicas;
  asked.engine.draft = 0;
  asked.engine.node_gpus = count_of(arguments, "--prefill-node-gpus", 0);
  if (arguments.has("--prefill-machine")) {
    if (arguments.has("--profile") && arguments.value("--prefill-machine") != words.machine)
      return fail("--profile", "one GPU's laws for pools on two kinds of machine", "without it: each has its default");
    asked.engine.machine = arguments.value("--prefill-machine");
  }
  if (arguments.has("--prefill-engine")) asked.engine.engine = arguments.value("--prefill-engine");
  asked.engine.tp = count_of(arguments, "--prefill-tp", 1), asked.engine.pp = count_of(arguments, "--prefill-pp", 1);
  asked.engine.layout.clear();  // it is of the stages of those that decode
  asked.engine.spare_experts = 0;
  asked.engine.ep = count_of(arguments, "--prefill-ep", 1);
  asked.engine.attention_dp = count_of(arguments, "--prefill-dp-attention", 1);
  if (arguments.has("--prefill-tp")) TRY(check_gpus(asked.engine, asked.replicas, "--prefill-"));
  asked.batching.most_sequences = count_of(arguments, "--prefill-most-sequences");
  asked.batching.most_positions = count_of(arguments, "--prefill-most-positions");
  return asked;
}

std::vector<Flag> own_flags() {
  constexpr std::string_view load = "Load", batching = "Batching", pool = "Pool of prompts", output = "Output";
  constexpr std::int64_t most = 10'000'000;
  return {length_flag("--input", load, "positions of a prompt, at most; 1k is 1,024, here and of the next", most),
      length_flag("--output", load, "output tokens, at most", most),
      text_flag("--shortest", "SHARE", load,
          "lengths are whole numbers from this share of the most, all as likely (default 1: all as long)", check_share),
      count_flag("--concurrency", load, "users: as one request ends its user sends the next", 1'000'000),
      text_flag("--rate", "PER_S", load, "requests per second, whether others have ended or not", check_positive),
      text_flag("--burstiness", "SHAPE", load,
          "of the gamma law between requests (default 1: Poisson; below: in bursts)", check_positive),
      text_flag("--trace", "FILE.csv", load, "requests by arrival_s, prompt, output and perhaps cached", nullptr),
      count_flag("--requests", load, "how many (default 10 of each user, or 1,000 of each replica at a rate)", most),
      length_flag("--shared", load, "positions at the head of all prompts that the cache has", most, 0),
      count_flag("--warm-up", load, "requests at the start that are not counted (default 0)", most, 0),
      count_flag("--seed", load, "of lengths and arrivals (default 0)", 1'000'000'000, 0),
      text_flag("--slo", "TARGETS", load, "what users are promised: \"ttft<500ms tpot<30ms e2e<20s\"", check_targets),
      count_flag("--replicas", batching, "engines beside each other behind a router (default 1)", most),
      count_flag("--most-sequences", batching, "that run at once in one engine (default: the engine's)", 1'000'000),
      length_flag("--most-positions", batching, "of one iteration (default: the engine's)", 1'000'000),
      text_flag("--preemption", "WAY", batching,
          "of sequences that give way in a full cache: recompute, or swap to the host's memory (default: the engine's)",
          infer::check_preemption),
      text_flag("--swap-space", "GIB", batching, "of the host's memory for each GPU, with swap (default: the engine's)",
          infer::check_swap_space),
      count_flag("--draft", batching, "tokens that a layer of its own guesses before each iteration (MTP, EAGLE)", 7),
      text_flag("--accepted", "SHARE", batching, "of the guesses, each where those before it were right", check_share),
      count_flag("--prefill-gpus", pool, "GPUs that prefill, beside --gpus, which decode", most),
      count_flag("--prefill-replicas", pool, "engines among them (default 1)", most),
      text_flag("--prefill-machine", "ID|FILE", pool, "where they stand (default: --machine)", nullptr),
      text_flag("--prefill-engine", "ID|FILE", pool, "a release of the same engine (default: --engine)", nullptr),
      count_flag("--prefill-tp", pool, "tensor parallel ways of each (default: its GPUs)", 32'768),
      count_flag("--prefill-pp", pool, "its pipeline stages (default 1)", 32'768),
      count_flag("--prefill-node-gpus", pool, "GPUs of each node that it has (default: all)", most),
      count_flag("--prefill-ep", pool, "ranks that its experts are spread over (default 1)", 32'768),
      count_flag("--prefill-dp-attention", pool, "its groups with sequences of their own (default 1)", 32'768),
      count_flag("--prefill-most-sequences", pool, "that it reads at once (default: the engine's)", 1'000'000),
      length_flag("--prefill-most-positions", pool, "of its iterations (default: the engine's)", 1'000'000),
      {.name = "--emit",
          .key = "",
          .value = "ENGINE",
          .group = output,
          .doc = "write the launch instead, with a benchmark of the load: vllm, sglang or trtllm"},
      {.name = "--html",
          .key = "",
          .value = "FILE.html",
          .group = output,
          .doc = "a page: latencies over load, cache over time, an iteration's parts",
          .alias = "-o",
          .repeats = true},
      cli::force_flag, json_flag()};
}

}  // namespace

Expected<Question> question_of(const Arguments& arguments) {
  TRY(check_load(arguments));
  Question asked;
  asked.engine = infer::engine_wishes(arguments);
  asked.replicas = count_of(arguments, "--replicas", 1);
  // --gpus counts all: each replica has its part.
  if (asked.engine.gpus % asked.replicas != 0)
    return fail(
        "--replicas", fmt::format("{} GPUs for {} replicas", asked.engine.gpus, asked.replicas), "a divisor of --gpus");
  asked.engine.gpus /= asked.replicas;
  if (arguments.has("--tp")) TRY(check_gpus(asked.engine, asked.replicas, "--"));
  asked.batching.most_sequences = count_of(arguments, "--most-sequences");
  asked.batching.most_positions = count_of(arguments, "--most-positions");
  TRY(infer::read_swapping(arguments, asked.batching));
  TRY(asked.engine.draft, infer::guesses_of(arguments, asked.guesses));
  TRY(asked.prompts, prompt_pool(arguments, asked.engine));
  asked.batching.decodes = asked.prompts.has_value();
  asked.concurrency = count_of(arguments, "--concurrency");
  asked.warm_up = count_of(arguments, "--warm-up", 0);
  if (arguments.has("--slo")) {
    TRY(asked.targets, read_targets(arguments.value("--slo"), "--slo"));
  }
  if (arguments.has("--trace")) {
    const std::string file = arguments.value("--trace");
    TRY(const auto text, read_text_file(file));
    TRY(asked.trace, sim::read_requests(text, file));
    return asked;
  }
  if (arguments.has("--rate")) {
    TRY(asked.rate, positive(arguments.value("--rate"), "--rate"));
  }
  if (arguments.has("--burstiness")) {
    TRY(asked.shape, positive(arguments.value("--burstiness"), "--burstiness"));
  }
  double shortest = 1;
  if (arguments.has("--shortest")) {
    TRY(shortest, parse_fraction(arguments.value("--shortest"), "--shortest"));
  }
  const std::int64_t input = *count_of(arguments, "--input"), shared = count_of(arguments, "--shared", 0);
  asked.law.prompts = sim::lengths_of(input, shortest);
  asked.law.outputs = sim::lengths_of(*count_of(arguments, "--output"), shortest);
  if (shared >= asked.law.prompts.low)
    return fail("--shared", fmt::format("{} of {} positions of a prompt are cached", shared, asked.law.prompts.low),
        fmt::format("at most {}", asked.law.prompts.low - 1));
  asked.law.shared = shared;
  asked.law.seed = static_cast<std::uint64_t>(count_of(arguments, "--seed", 0));
  asked.law.count =
      count_of(arguments, "--requests")
          .value_or(asked.concurrency ? requests_of_user * *asked.concurrency : requests_of_replica * asked.replicas);
  if (asked.law.count > most_requests)
    return fail(arguments.has("--requests") ? "--requests"
                : asked.concurrency         ? "--concurrency"
                                            : "--replicas",
        fmt::format("{} requests, each of which is simulated", asked.law.count),
        fmt::format("--requests {} at most, which show the same of so many users or fewer", most_requests));
  if (asked.concurrency && asked.law.count < *asked.concurrency)
    return fail("--requests", fmt::format("{} requests of {} users", asked.law.count, *asked.concurrency),
        fmt::format("at least {}, and some times as many", *asked.concurrency));
  return asked;
}

void put_rows(
    const std::optional<Engine>& row, const std::optional<Engine>& prompt_row, bool told_exchange, Question& question) {
  if (row) question.engine.row = std::make_shared<const Engine>(*row);
  if (!question.prompts) return;
  infer::ServingWishes& prompts = question.prompts->engine;
  if (prompt_row) prompts.row = std::make_shared<const Engine>(*prompt_row);
  else if (prompts.engine == question.engine.engine) prompts.row = question.engine.row;
  // Each row has its own way between experts.
  if (prompt_row && !told_exchange) prompts.exchange.clear();
}

std::span<const Flag> serve_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = infer::engine_flags();
    for (const Flag& flag : own_flags()) all.push_back(flag);
    for (const Flag& flag : engine_launch_flags()) all.push_back(flag);
    return all;
  }();
  return flags;
}

namespace {

/// What is asked that a launch and its benchmark have no words for here.
constexpr const char* not_emitted[] = {"--draft", "--accepted", "--json", "--html", "--products", "--layout", "--cp",
    "--cp-way", "--dcp", "--trace", "--seed", "--slo", "--warm-up", "--prefill-machine", "--prefill-engine",
    "--prefill-gpus", "--prefill-tp", "--prefill-pp", "--prefill-ep", "--prefill-dp-attention", "--prefill-replicas",
    "--prefill-most-sequences", "--prefill-most-positions", "--spare-experts", "--node-gpus", "--prefill-node-gpus"};

Expected<void> check_emitted(const Arguments& arguments, bool changes_engine) {
  for (const char* flag : not_emitted)
    if (arguments.has(flag)) return fail(flag, "is not written by --emit", fmt::format("without {}", flag));
  if (changes_engine)
    return fail("--emit", "the launch says more of its engine than is written", "flags of serve in place of --launch");
  if (arguments.has("--kv") && arguments.value("--kv") != "fp8" && arguments.value("--kv") != "bf16")
    return fail("--kv", "is written by --emit for bf16 and fp8 alone", "one of them");
  if (arguments.value("--emit") == "trtllm" && count_of(arguments, "--replicas", 1) > 1)
    return fail("--replicas", "trtllm-serve runs one engine", "--emit for one replica");
  return {};
}

}  // namespace

Expected<void> serve_command(const Arguments& arguments, Console& console) {
  TRY(const auto launched, with_launch(arguments, serve_flags()));
  TRY(infer::check_ways(launched.arguments, arguments));
  if (arguments.has("--emit")) {
    TRY(check_emitted(launched.arguments, launched.changes_engine));
    TRY(auto question, question_of(launched.arguments));
    question.engine.longest = launched.longest, question.engine.positions = launched.positions;
    question.engine.longest_fits = launched.longest_fits;
    TRY(answer(question));  // a server that cannot run is not written
    TRY(const auto text, emit_engine(arguments.value("--emit"), launched.arguments));
    console.out << text;
    return {};
  }
  TRY(auto question, question_of(launched.arguments));
  question.engine.longest = launched.longest, question.engine.positions = launched.positions;
  question.engine.longest_fits = launched.longest_fits;
  put_rows(launched.row, launched.prompt_row, arguments.has("--exchange"), question);
  TRY(auto pages, cli::open_outputs(arguments, "--html", page_forms));
  auto found = answer(question);
  if (!found) return tl::unexpected(engines::of_launch(std::move(found.error()), launched));
  Answer& answered = *found;
  answered.serving.assumptions.insert(
      answered.serving.assumptions.begin(), launched.notes.begin(), launched.notes.end());
  for (cli::NamedOutput& page : pages) {
    TRY(const auto text, load_page(question, answered));
    page.file.finish(text);
  }
  if (arguments.has("--json")) {
    answered.warnings.insert(answered.warnings.begin(), launched.warnings.begin(), launched.warnings.end());
    console.out << cli::with_told(answer_json(question, answered), arguments);
    return {};
  }
  for (const std::string& warning : launched.warnings) console.out << "warning: " << warning << "\n";
  console.out << answer_text(question, answered);
  return {};
}

}  // namespace stepcast::serve
