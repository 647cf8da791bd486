#include "studies/engines/launch_flags.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "studies/cli/shell_word.h"

namespace stepcast::engines {

std::vector<Flag> engine_launch_flags() {
  constexpr std::string_view group = "Launch line";
  // clang-format off
  return {
      {.name = "--launch", .key = "", .value = "FILE|--", .group = group,
       .doc = "script, container or command line (behind --) of vLLM, SGLang or TensorRT-LLM; FILE:12 is that of line 12",
       .words_behind = true},
      {.name = "--define", .key = "", .value = "NAME=VALUE", .group = group,
       .doc = "a variable that the launch takes from outside; may be repeated", .repeats = true},
      {.name = "--files-from", .key = "", .value = "FOLDER", .group = group,
       .doc = "files below it that the launch names are read too; may be repeated", .repeats = true},
      {.name = "--lenient", .key = "", .value = "", .group = group,
       .doc = "forecast in spite of arguments that are not known or not followed, with a warning",
       .kind = FlagKind::toggle},
  };
  // clang-format on
}

namespace {

Expected<EngineLaunchSource> source_of(const Arguments& arguments) {
  EngineLaunchSource source;
  source.file = arguments.value("--launch");
  source.words = arguments.rest;
  source.folders = arguments.values("--files-from");
  for (const std::string& text : arguments.values("--define")) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      return fail("--define", fmt::format("'{:.60}' sets no variable", text), "--define MODEL=Qwen/Qwen3-32B");
    source.defined[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return source;
}

}  // namespace

Expected<std::optional<EngineLaunchSource>> engine_launch_source(const Arguments& arguments) {
  if (!arguments.has("--launch")) {
    for (const char* flag : {"--define", "--files-from", "--lenient"})
      if (arguments.has(flag)) return fail(flag, "says something of a launch, and none is given", "--launch run.sh");
    return std::nullopt;
  }
  TRY(const auto source, source_of(arguments));
  if (source.file != "--" && !source.words.empty())
    return fail("--", fmt::format("words behind a launch in {:.60}", source.file),
        "flags of this command in front, or --launch -- with the whole command");
  return source;
}

Expected<bool> starts_engine(const Arguments& arguments) {
  if (!arguments.has("--launch")) return false;
  TRY(const auto source, source_of(arguments));
  return has_engine(source);
}

std::map<std::string, std::string, std::less<>> told_flags(const Arguments& arguments) {
  std::map<std::string, std::string, std::less<>> told = arguments.flags;
  for (const Flag& flag : engine_launch_flags()) told.erase(std::string(flag.name));
  for (const char* form : {"--json", "--emit"}) told.erase(form);
  return told;
}

namespace {

/// What a launch says of its engines beyond flags.
std::vector<std::string> changes_of(const AskedEngine& asked) {
  std::vector<std::string> changes;
  if (!asked.changed.empty())
    changes.push_back(fmt::format("{} with {}", asked.prompt_row ? "the row of the pool of tokens" : "the engine's row",
        fmt::join(asked.changed, ", ")));
  if (asked.prompt_changed != asked.changed && !asked.prompt_changed.empty())
    changes.push_back(fmt::format("the row of the pool of prompts with {}", fmt::join(asked.prompt_changed, ", ")));
  return changes;
}

}  // namespace

Error of_launch(Error error, const LaunchedArguments& launched) {
  return with_more_hint(std::move(error), launched.other_gpus);
}

Expected<LaunchedArguments> with_launch(const Arguments& arguments, std::span<const Flag> flags) {
  LaunchedArguments out;
  out.arguments = arguments;
  TRY(const auto source, engine_launch_source(arguments));
  if (!source) {
    if (arguments.words.empty()) return fail("command line", "no network is named", "NETWORK, or --launch run.sh");
    return out;
  }
  TRY(auto launch, read_engine_launch(*source));
  const bool lenient = arguments.has("--lenient");
  if (arguments.has("--prefill-machine")) launch.unlike_gpus.clear();
  if (find_flag(flags, "--concurrency") == nullptr) launch.load_doubts.clear();  // an iteration has no load
  TRY(out.warnings, understood(launch, lenient));
  const std::string network = arguments.words.empty() ? "" : arguments.words[0];
  // How many guesses are right no launch tells: --lenient forecasts without them where nobody does.
  const bool guesses = find_flag(flags, "--draft") != nullptr && (!lenient || arguments.has("--accepted"));
  const LaunchUse use{guesses, find_flag(flags, "--concurrency") != nullptr, lenient};
  TRY(auto asked, asked_engine(launch, told_flags(arguments), network, use));
  out.warnings.insert(out.warnings.end(), asked.warnings.begin(), asked.warnings.end());
  out.notes = asked.notes, out.longest = asked.longest, out.positions = asked.positions,
  out.longest_fits = asked.longest_fits, out.other_gpus = asked.other_gpus;
  const std::vector<std::string> changed = changes_of(asked);
  if (!changed.empty() && arguments.has("--engine") && !asked.of_told_row)
    return fail("--engine",
        fmt::format("another engine beside what the launch says of its own: {}", fmt::join(changed, "; ")),
        "without --engine");
  if (asked.prompt_row && arguments.has("--prefill-engine"))
    return fail("--prefill-engine", "another engine than the one that the launch starts to read prompts",
        "without --prefill-engine");
  out.changes_engine = !changed.empty();
  out.notes.insert(out.notes.end(), changed.begin(), changed.end());
  out.arguments.words = {asked.network};
  for (const auto& [name, value] : asked.flags)
    if (find_flag(flags, name) != nullptr) out.arguments.flags.emplace(name, value);
  if (!arguments.has("--engine") || asked.of_told_row)
    out.row = std::move(asked.row), out.prompt_row = std::move(asked.prompt_row);
  return out;
}

std::string shown_command(const std::string& command, const AskedEngine& asked) {
  std::string text = fmt::format("stepcast {} {}", command, asked.network);
  for (const auto& [name, value] : asked.flags)
    text += value.empty() ? " " + name : fmt::format(" {} {}", name, shell_word(value));
  return text;
}

}  // namespace stepcast::engines
