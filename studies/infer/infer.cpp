#include "studies/infer/infer.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "studies/engines/launch_flags.h"
#include "studies/infer/asked.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/output_file.h"
#include "studies/cli/told.h"
#include "studies/infer/infer_report.h"
#include "studies/infer/iteration_explained.h"
#include "studies/infer/iteration_page.h"
#include "studies/infer/iteration_trace.h"
#include "studies/infer/roofs.h"
#include "studies/infer/what_if.h"
#include "studies/print/page/page.h"
#include "studies/timeline/scene.h"

namespace stepcast::infer {
namespace {

Expected<void> check_phase(const std::string& text, const std::string& where) {
  for (const char* phase : {"prefill", "decode", "mixed", "batch"})
    if (text == phase) return {};
  return fail(where, fmt::format("unknown phase '{:.40}'", text),
      "prefill, decode, mixed for a prompt beside running sequences, or batch for one after the other");
}

std::vector<Flag> work_flags() {
  constexpr std::string_view work = "Work", output = "Output";
  constexpr std::int64_t most = 100'000'000;
  return {{.name = "--mapping",
              .key = "",
              .value = "FILE",
              .group = work,
              .doc = "a mapping in the notation, in place of the flags that split"},
      {.name = "--prompts-mapping",
          .key = "",
          .value = "FILE",
          .group = work,
          .doc = "beside --mapping, that of prompts"},
      {.name = "--phase",
          .key = "",
          .value = "PHASE",
          .group = work,
          .doc = "prefill, decode, mixed: a prompt beside running sequences, or batch: prefill and all of decode",
          .check = check_phase},
      length_flag("--prompt", work, "positions of each prompt; 8k is 8,192, here and of the next", most),
      length_flag("--cached", work, "positions in the cache before them (default 0)", most, 0),
      length_flag("--context", work, "decode: positions in the cache", most),
      length_flag("--output", work, "batch: output tokens of each sequence", most),
      count_flag("--batch", work, "sequences of the replica (default 1)", most),
      count_flag("--draft", work, "tokens that a layer of its own guesses before each iteration (MTP, EAGLE)", 7),
      {.name = "--accepted",
          .key = "",
          .value = "SHARE",
          .group = work,
          .doc = "of the guesses, each where those before it were right",
          .check = check_share},
      {.name = "--what-if",
          .key = "",
          .value = "",
          .group = output,
          .doc =
              "the same with one thing changed at a time: rates of the machine, the host, split, batch, types, engine",
          .kind = FlagKind::toggle},
      {.name = "--roofline",
          .key = "",
          .value = "",
          .group = output,
          .doc = "the kernels of the iteration under the roofs of the GPU",
          .kind = FlagKind::toggle},
      {.name = "--explain",
          .key = "",
          .value = "",
          .group = output,
          .doc = "the mapping with every alias written out, which line splits which operator, and why anything moves",
          .kind = FlagKind::toggle},
      {.name = "--trace",
          .key = "",
          .value = "FILE",
          .group = output,
          .doc = "the iteration kernel by kernel, for Perfetto",
          .kind = FlagKind::text},
      {.name = "--html",
          .key = "",
          .value = "FILE",
          .group = output,
          .doc = "a page of the iteration: what binds, a layer in time, kernels, memory, roofs",
          .kind = FlagKind::text},
      cli::force_flag, json_flag()};
}

}  // namespace

std::vector<Flag> engine_flags() {
  constexpr std::string_view hardware = "Machine and engine", split = "Split";
  return {
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
      {.name = "--kv",
          .key = "",
          .value = "TYPE",
          .group = hardware,
          .doc = "number type of the cache (default: as a file in front says, else bf16)"},
      count_flag("--gpus", split, "all GPUs, tp x pp for each replica (the default)", 10'000'000),
      count_flag("--tp", split, "tensor parallel ways", 32'768), count_flag("--pp", split, "pipeline stages", 32'768),
      count_flag("--node-gpus", split, "GPUs of each node that it has: others are behind the network (default: all)",
          10'000'000),
      {.name = "--layout",
          .key = "",
          .value = "N,..",
          .group = split,
          .doc = "layers of each stage (default: as the engine deals them out)"},
      count_flag(
          "--ep", split, "ranks that the experts are spread over (default 1: each has a part of every expert)", 32'768),
      count_flag("--spare-experts", split,
          "copies of experts over all ranks, in each layer with experts: their memory (default 0)", 1'000'000, 0),
      {.name = "--exchange",
          .key = "",
          .value = "WAY",
          .group = split,
          .doc = "of tokens with experts of other groups: gather, or rows (default: the engine's)"},
      count_flag(
          "--dp-attention", split, "groups of tp ranks with sequences of their own, which share the experts", 32'768),
      count_flag("--cp", split, "prompts and their cache by position over so many (prefill context parallel)", 32'768),
      {.name = "--cp-way",
          .key = "",
          .value = "WAY",
          .group = split,
          .doc =
              "how prompts on --cp ranks come to all keys: gather (default), ring, or exchange: heads for positions"},
      count_flag("--dcp", split,
          "of tp ranks with the same key heads, so many parts of the cache (decode context parallel)", 32'768)};
}

std::span<const Flag> infer_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = engine_flags();
    for (Flag& flag : work_flags()) all.push_back(std::move(flag));
    for (const Flag& flag : engine_launch_flags()) all.push_back(flag);
    return all;
  }();
  return flags;
}

namespace {

struct InferFile {
  const char* flag;
  std::string (*text)(const Asked& asked, const Answer& answer);
  cli::IsOwnFile own;
};
constexpr InferFile infer_files[] = {{"--trace", iteration_trace, timeline::is_trace_file},
    {"--html", iteration_page, [](const std::string& name) { return print::is_page(name, iteration_page_mark); }}};

/// Each is printed in place of the answer.
Expected<void> check_one_view(const Arguments& arguments) {
  const char* first = nullptr;
  for (const char* view : {"--what-if", "--roofline", "--explain"}) {
    if (!arguments.has(view)) continue;
    if (first != nullptr) return fail(view, std::string("does not go with ") + first, "one of them");
    first = view;
  }
  return {};
}

}  // namespace

Expected<void> infer_command(const Arguments& arguments, Console& console) {
  TRY(const auto launched, with_launch(arguments, infer_flags()));
  TRY(auto asked, asked_of(launched.arguments, arguments));
  asked.wishes.longest = launched.longest, asked.wishes.positions = launched.positions;
  if (launched.row) asked.wishes.row = std::make_shared<const Engine>(*launched.row);
  TRY(cli::check_apart(arguments, {"--trace", "--html"}));
  TRY(check_one_view(arguments));
  std::vector<std::pair<const InferFile*, cli::OutputFile>> files;  // before the work
  for (const InferFile& form : infer_files) {
    if (!arguments.has(form.flag)) continue;
    TRY(auto file, cli::OutputFile::open(cli::output_place(arguments, form.flag, form.own)));
    files.emplace_back(&form, std::move(file));
  }
  auto found = answer_to(asked);
  if (!found) return tl::unexpected(engines::of_launch(std::move(found.error()), launched));
  Answer& answer = *found;
  answer.serving.assumptions.insert(answer.serving.assumptions.begin(), launched.notes.begin(), launched.notes.end());
  answer.warnings = launched.warnings;
  for (auto& [form, file] : files) file.finish(form->text(asked, answer));
  const bool json = arguments.has("--json");
  if (arguments.has("--explain")) {
    TRY(const auto explained, explain_iteration(answer.serving, asked.phase));
    console.out << (json ? explained_json(explained) : explained_text(explained, console));
    return {};
  }
  if (arguments.has("--what-if")) {
    const WhatIf study = what_if(asked, answer);
    console.out << (json ? what_if_json(study) : what_if_text(study, console));
    return {};
  }
  if (arguments.has("--roofline")) {
    const auto& print = json ? roofs_json : roofs_text;
    console.out << print(answer.serving, answer.phase.shown);
    return {};
  }
  console.out << (json ? cli::with_told(infer_json(asked, answer), arguments) : infer_text(asked, answer, console));
  return {};
}

}  // namespace stepcast::infer
