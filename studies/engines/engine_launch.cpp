#include "studies/engines/engine_launch.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "studies/engines/deployment.h"
#include "studies/engines/read_arguments.h"

namespace stepcast::engines {
namespace {

/// "run.sh:12" is the command of that line, unless a file has that name.
std::pair<std::string, std::size_t> file_and_line(const std::string& named) {
  const std::size_t colon = named.rfind(':');
  std::error_code ignored;
  if (colon == named.npos || std::filesystem::exists(named, ignored)) return {named, 0};
  const auto line = parsed_number<std::size_t>(named.substr(colon + 1));
  return line ? std::pair{named.substr(0, colon), *line} : std::pair{named, std::size_t{0}};
}

Expected<std::vector<EngineLine>> lines_of(const EngineLaunchSource& source, const std::string& file) {
  if (source.file == "--") {
    std::vector<ShellWord> words;
    for (const std::string& word : source.words) words.push_back({.text = word, .unset = {}});
    EngineLine line = line_of_words(std::move(words), "command line");
    return line.program != nullptr ? std::vector{std::move(line)} : std::vector<EngineLine>();
  }
  TRY(const auto text, read_text_file(file));
  return looks_like_deployment(text) ? deployment_lines(text, file, source.defined)
                                     : shell_lines(text, file, source.defined);
}

/// What decides a forecast, to tell whether two commands start the same.
std::string essence(const SaidArguments& said) {
  std::map<std::string, std::string> counted;
  for (const GivenArgument& given : said.all) {
    const launch::ArgumentFact* fact = fact_of(said.table(), given.name);
    if (fact == nullptr || fact->reach == launch::Reach::step || fact->reach == launch::Reach::uncovered)
      counted[std::string(counted_name(said.table(), given.name))] = given.value;
  }
  std::string text(said.program->table);
  for (const auto& [name, value] : counted) text += "\n" + name + " " + value;
  return text;
}

struct FoundLine {
  EngineLine line;
  SaidArguments said;
  std::string essence = {};
};

/// One of those that start the same; several that do not are an error.
Expected<const FoundLine*> only_one(
    const std::vector<FoundLine>& found, const std::string& file, const char* what, bool needed) {
  if (found.empty()) {
    if (!needed) return nullptr;
    return fail(file, "no command in it starts a serving engine",
        "vllm serve, python -m sglang.launch_server, trtllm-serve, trtllm-bench, or a container that runs one");
  }
  for (const FoundLine& other : found)
    if (other.essence != found.front().essence) {
      std::vector<std::string> places;
      for (const FoundLine& one : found)
        places.push_back(one.line.part.empty() ? fmt::format("line {}", one.line.line)
                                               : fmt::format("{} in line {}", one.line.part, one.line.line));
      return fail(file, fmt::format("{} commands {}, and they differ: {}", found.size(), what, fmt::join(places, ", ")),
          fmt::format("--launch {}:{} for one of them", file, found.front().line.line));
    }
  return &found.front();
}

/// Commands that read prompts, taken out of `servers`, where the others say their tokens: each of the two a command by
/// itself, since copies and nodes of one engine look alike. Dynamo's vLLM says tokens where it is told nothing.
std::vector<FoundLine> take_prompts(std::vector<FoundLine>& servers) {
  std::vector<FoundLine> prompts, tokens;
  for (FoundLine& one : servers) {
    const PoolRole role = role_of(one.said, one.line.part);
    if (role == PoolRole::prompts) prompts.push_back(one);
    else if (role == PoolRole::tokens || one.said.program->table == "dynamo-vllm") tokens.push_back(one);
  }
  if (prompts.size() != 1 || tokens.size() != 1 || servers.size() != 2) return {};
  servers = std::move(tokens);
  return prompts;
}

/// A variable has a name; what a command or a sum comes to has none that --define could set.
std::string hangs_on(const SaidArguments& said, const GivenArgument& given) {
  const std::string& first = given.unset.front();
  const bool named = std::ranges::all_of(first, is_shell_name);
  return fmt::format("{} hangs on {}{}, which nothing sets{}", place_of_argument(said, given), named ? "$" : "",
      fmt::join(given.unset, " and "), named ? fmt::format(": --define {}=...", first) : "");
}

/// An engine on other chips than GPUs is another program, and no profile is of them.
void doubt_chip(const EngineLine& line, std::vector<std::string>& doubts) {
  const std::string chip = line.chip.empty() ? std::string(chip_of_environment(line.environment)) : line.chip;
  if (chip.empty()) return;
  doubts.push_back(fmt::format("it starts on {}, and engines on these are not forecast", chip));
}

std::string listed(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "; ")); }

bool is_default(const SaidArguments& said, const launch::ArgumentFact& fact, const GivenArgument& given) {
  const std::string value = lower_case(stripped(given.value));
  const std::string usual = lower_case(said.table().default_of(fact, ""));
  if (!usual.empty() && value == usual) return true;
  if (fact.takes == "flag" && (value == "false" || value == "0")) return usual.empty() || usual == "false";
  return value == "null" || value == "none";
}

}  // namespace

Standing standing_of(const SaidArguments& said, const GivenArgument& given) {
  const launch::ArgumentFact* fact = fact_of(said.table(), given.name);
  if (fact == nullptr) return Standing::unknown;
  if (!fact->instead.empty())
    if (const launch::ArgumentFact* counted = fact_of(said.table(), counted_name(said.table(), given.name)))
      fact = counted;
  const std::string value = lower_case(stripped(given.value));
  if (!fact->refused.empty())
    return is_default(said, *fact, given) || contains(fact->plain, value) ? Standing::no_effect : Standing::refused;
  switch (fact->reach) {
    case launch::Reach::step: return Standing::used;
    case launch::Reach::beside: return Standing::beside;
    case launch::Reach::uncovered: return is_default(said, *fact, given) ? Standing::no_effect : Standing::not_forecast;
    default: return Standing::no_effect;
  }
}

Expected<EngineLaunch> read_engine_launch(const EngineLaunchSource& source) {
  const auto [file, at_line] = file_and_line(source.file);
  TRY(auto lines, lines_of(source, file));
  const std::string shown = file == "--" ? "command line" : file;
  launch::LaunchFolders folders = {file == "--" ? "." : std::filesystem::path(file).parent_path().string()};
  if (folders[0].empty()) folders[0] = ".";
  folders.insert(folders.end(), source.folders.begin(), source.folders.end());
  std::vector<FoundLine> servers, benches;
  for (EngineLine& line : lines) {
    if (line.program->engine.empty() && line.program->loads) {
      TRY(auto said, said_arguments(line, folders));
      benches.push_back({std::move(line), std::move(said)});
      continue;
    }
    if (at_line > 0 && line.line != at_line) continue;
    if (!line.program->refused.empty())
      return fail(fmt::format("{}:{} {}", shown, line.line, line.program->words), std::string(line.program->refused),
          "the line of an engine that serves by itself");
    TRY(auto said, said_arguments(line, folders));
    servers.push_back({std::move(line), std::move(said)});
  }
  for (auto* found : {&servers, &benches})
    for (FoundLine& one : *found) one.essence = essence(one.said);
  const std::vector<FoundLine> prompts = take_prompts(servers);
  TRY(const auto server, only_one(servers, shown, "start engines", true));
  EngineLaunch out;
  out.server = server->said;
  out.environment = server->line.environment;
  out.doubts = server->line.unfollowed;
  out.notes = server->said.notes;
  out.copies = server->line.copies;
  out.gpu_kind = server->line.gpu_kind;
  doubt_chip(server->line, out.doubts);
  if (!prompts.empty()) {
    const FoundLine& reads = prompts[0];
    out.prompts = reads.said, out.prompt_copies = reads.line.copies, out.prompt_environment = reads.line.environment;
    out.notes.insert(out.notes.end(), reads.said.notes.begin(), reads.said.notes.end());
    for (const std::string& doubt : reads.line.unfollowed)
      if (!contains(out.doubts, doubt)) out.doubts.push_back(doubt);
  }
  if (server->line.program->loads) return out;
  // Loops over loads are benchmarks of their own: flags say which of them is meant.
  auto bench = only_one(benches, shown, "load it", false);
  if (!bench) {
    out.notes.push_back(
        fmt::format("{}: --input, --output and --concurrency or --rate say which load is meant", bench.error().what));
  } else if (*bench != nullptr) {
    out.bench = (*bench)->said;
  }
  return out;
}

Expected<std::vector<std::string>> understood(const EngineLaunch& launch, bool lenient) {
  std::vector<std::string> doubts = launch.doubts, refused, warnings, aside;
  const auto look_at = [&](const SaidArguments& said, bool hangs) {
    doubts.insert(doubts.end(), said.unknown.begin(), said.unknown.end());
    for (const GivenArgument& given : said.all) {
      const launch::ArgumentFact* fact = fact_of(said.table(), counted_name(said.table(), given.name));
      const Standing standing = standing_of(said, given);
      if (!said.counts(given)) continue;
      if (hangs && standing == Standing::used && !given.unset.empty()) doubts.push_back(hangs_on(said, given));
      if (standing == Standing::refused && !(launch.prompts && joins_pools(said, given)))
        refused.push_back(fmt::format("{} {:.40} ({})", place_of_argument(said, given), given.value, fact->refused));
      if (standing == Standing::not_forecast) aside.push_back(given.spelled.empty() ? given.name : given.spelled);
    }
  };
  look_at(launch.server, true);
  if (launch.prompts) look_at(*launch.prompts, true);
  // a load that hangs on variables is left out, and asked for
  if (launch.bench) look_at(*launch.bench, false);
  if (!refused.empty()) doubts.push_back("not forecast: " + listed(refused));
  if (!doubts.empty() && !lenient)
    return fail(launch.server.where, listed(doubts),
        "a copy of the launch without them, or --lenient for a forecast that leaves them out");
  warnings = doubts;
  if (!aside.empty()) warnings.push_back(fmt::format("what these change is not forecast: {}", fmt::join(aside, ", ")));
  return warnings;
}

}  // namespace stepcast::engines
