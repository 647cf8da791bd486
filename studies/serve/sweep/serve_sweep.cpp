#include "studies/serve/sweep/serve_sweep.h"

#include <chrono>
#include <vector>

#include "model/base/quantity_text.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/named_outputs.h"
#include "studies/infer/asked.h"
#include "studies/print/csv.h"
#include "studies/print/page/page.h"
#include "studies/serve/sweep/words.h"

namespace stepcast::serve::sweeping {
namespace {

bool is_own_page(const std::string& name) { return print::is_page(name, page_name); }
const OutputForm forms[] = {{".html", "a page that stands alone", is_own_page}};

Expected<void> check_counts(const std::string& text, const std::string& where) {
  TRY(read_counts(text, where));
  return {};
}
Expected<void> check_prices(const std::string& text, const std::string& where) {
  TRY(read_prices(text, where));
  return {};
}

std::vector<Flag> make_flags() {
  constexpr std::string_view engines = "Machines and engines", split = "Split", load = "Load", batching = "Batching",
                             pool = "Pools of their own for prompts", choice = "What is best", output = "Output";
  constexpr std::int64_t most = 10'000'000;
  return {text_flag("--machine", "ID,..", engines, "machines or files (default dgx-h100)"),
      text_flag("--engine", "ID,..", engines, "serving engines or files (default vllm)"),
      text_flag("--profile", "ID|FILE", engines, "laws of kernels (default: the profile of each machine's GPU)"),
      text_flag("--weights", "TYPE,..", engines,
          "number types of the weights: bf16, fp8, fp8-block, nvfp4, mxfp4, int4, ..."),
      text_flag("--products", "TYPE", engines, "what products multiply (default: the weights')"),
      text_flag("--kv", "TYPE,..", engines, "number types of the cache (default bf16)"),
      text_flag("--gpus", "N,..", split, "GPUs of all replicas: what tp x pp x dp-attention leaves are replicas",
          check_counts),
      text_flag("--tp", "N,..", split, "tensor parallel ways (default 1,2,4,8)", check_counts),
      text_flag("--pp", "N,..", split, "pipeline stages (default 1)", check_counts),
      text_flag("--ep", "N,..", split, "ranks that the experts are spread over (default 1)", check_counts),
      text_flag(
          "--dp-attention", "N,..", split, "groups of tp ranks with sequences of their own (default 1)", check_counts),
      text_flag("--replicas", "N,..", split, "only so many (default: any)", check_counts),
      count_flag("--node-gpus", split, "GPUs of each node that an engine has (default: all)", most),
      text_flag("--exchange", "WAY", split,
          "of tokens with experts of other groups: gather, or rows (default: the engine's)"),
      {.name = "--pools",
          .key = "",
          .value = "",
          .group = pool,
          .doc = "beside engines that do both, prompts read by GPUs of their own, in all ratios that balance",
          .kind = FlagKind::toggle},
      text_flag("--prefill-machine", "ID,..", pool, "where prompts are read (default: each time the --machine)"),
      text_flag(
          "--prefill-tp", "N,..", pool, "tensor parallel ways where prompts are read (default: --tp)", check_counts),
      text_flag("--prefill-ep", "N,..", pool, "ranks that experts are spread over there (default: --ep)", check_counts),
      text_flag("--prefill-dp-attention", "N,..", pool, "groups with sequences of their own (default: --dp-attention)",
          check_counts),
      count_flag("--prefill-node-gpus", pool, "GPUs of each node that it has (default: all)", most),
      text_flag("--prefill-replicas", "N,..", pool, "only so many (default: any)", check_counts),
      text_flag(
          "--prefill-most-sequences", "N,..", pool, "that one reads at once (default: the engine's)", check_counts),
      text_flag("--prefill-most-positions", "N,..", pool, "of its iterations (default: the engine's)", check_counts),
      length_flag("--input", load, "positions of a prompt, at most; 1k is 1,024, here and of the next", most, 1),
      length_flag("--output", load, "output tokens, at most", most, 1),
      text_flag("--shortest", "SHARE", load, "lengths are whole numbers from this share of the most, all as likely",
          check_share),
      length_flag("--shared", load, "positions at the head of all prompts that the cache has", most, 0),
      text_flag("--concurrency", "N,..", load, "users of all GPUs: 1,8,64 or 1..2048*2 (the default)", check_counts),
      text_flag("--rate", "PER_S,..", load, "requests per second of all GPUs, Poisson"),
      count_flag("--seed", load, "of lengths and arrivals of what is simulated (default 0)", 1'000'000'000, 0),
      text_flag(
          "--most-sequences", "N,..", batching, "that run at once in one engine (default: the engine's)", check_counts),
      text_flag("--most-positions", "N,..", batching, "of one iteration (default: the engine's)", check_counts),
      text_flag("--preemption", "WAY", batching,
          "of sequences that give way in a full cache: recompute, or swap to the host's memory (default: the engine's)",
          infer::check_preemption),
      text_flag("--swap-space", "GIB", batching, "of the host's memory for each GPU, with swap (default: the engine's)",
          infer::check_swap_space),
      text_flag("--slo", "TARGETS", choice, "means that a row must be below: \"ttft<500ms tpot<30ms e2e<20s\"",
          check_targets),
      text_flag("--price", "USD", choice,
          "per GPU and hour, 2.5, or dgx-h100=2.5,dgx-b200=4: ranks by cost of output tokens", check_prices),
      count_flag("--simulate", choice, "rows of the front and the list to run request by request, at most (default 8)",
          1000, 0),
      count_flag("--top", choice, "configurations to list (default 10)", 1000, 1),
      {.name = "--html",
          .key = "",
          .value = "FILE.html",
          .group = output,
          .doc = "a page: the front of each configuration, and all rows",
          .alias = "-o",
          .repeats = true},
      cli::force_flag, json_flag(),
      {.name = "--csv",
          .key = "",
          .value = "",
          .group = output,
          .doc = "all rows as a table",
          .kind = FlagKind::toggle}};
}

}  // namespace

std::span<const Flag> serve_sweep_flags() {
  static const std::vector<Flag> flags = make_flags();
  return flags;
}

Expected<void> serve_sweep_command(const Arguments& arguments, Console& console) {
  TRY(const auto asked, asked_of(arguments));
  if (arguments.has("--json") && arguments.has("--csv")) return fail("--csv", "beside --json", "one of them");
  TRY(auto outputs, cli::open_outputs(arguments, "--html", forms));
  const auto start = std::chrono::steady_clock::now();
  TRY(const auto explored, explore(asked));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (cli::NamedOutput& page : outputs) page.file.finish(sweep_page(asked, explored));
  if (arguments.has("--csv")) console.out << print::csv_of(sweep_json(asked, explored), {"rows"});
  else console.out << (arguments.has("--json") ? sweep_json(asked, explored) : sweep_text(asked, explored, seconds));
  return {};
}

}  // namespace stepcast::serve::sweeping
