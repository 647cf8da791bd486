#include "studies/engines/engine_launch.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/engines/deployment/deployment.h"
#include "studies/engines/pools/addressed.h"
#include "studies/engines/pools/pools_file.h"
#include "studies/engines/pools/pools_load.h"
#include "studies/engines/read_arguments.h"

namespace stepcast::engines {
namespace {

/// "run.sh:12" is the command of that line, "recipes.yaml:override_tp4" the recipe of that name, unless a file has the
/// whole name.
struct NamedLaunch {
  std::string file;
  std::size_t line = 0;
  std::string recipe{};
};
NamedLaunch named_launch(const std::string& named) {
  const std::size_t colon = named.rfind(':');
  std::error_code ignored;
  if (colon == named.npos || std::filesystem::exists(named, ignored)) return {named};
  const std::string file = named.substr(0, colon), part = named.substr(colon + 1);
  if (const auto line = parsed_number<std::size_t>(part)) return {file, *line};
  return std::filesystem::exists(file, ignored) ? NamedLaunch{file, 0, part} : NamedLaunch{named};
}

/// The commands of a launch by what they do.
struct Commands {
  std::vector<FoundLine> servers, benches;
  PoolPorts ports;
  std::vector<std::optional<MadeRequests>> made;
  bool routed = false;  ///< something before the engines hands requests to them
  std::optional<BenchLoad> load;
};

class CommandReader {
 public:
  CommandReader(const EngineLaunchSource& source, const NamedLaunch& named)
      : source_(source), file_(named.file), at_line_(named.line), recipe_(named.recipe) {
    const std::string& file = named.file;
    folders_.push_back(file == "--" ? "." : std::filesystem::path(file).parent_path().string());
    if (folders_[0].empty()) folders_[0] = ".";
    folders_.insert(folders_.end(), source.folders.begin(), source.folders.end());
  }

  Expected<Commands> read() {
    TRY(auto lines, lines_of());
    for (EngineLine& line : lines) TRY(take(std::move(line)));
    // A router's file describes engines, too; where others start them it says where these listen.
    if (out_.servers.empty())
      for (EngineLine& line : described_) TRY(add(std::move(line), out_.servers));
    return std::move(out_);
  }

 private:
  Expected<std::vector<EngineLine>> lines_of() {
    if (file_ == "--") {
      std::vector<ShellWord> words;
      for (const std::string& word : source_.words) words.push_back({.text = word, .unset = {}});
      EngineLine line = line_of_words(std::move(words), "command line");
      return line.program != nullptr ? std::vector{std::move(line)} : std::vector<EngineLine>();
    }
    TRY(const auto text, read_text_file(file_));
    if (looks_like_pools_file(text)) {
      TRY(auto both, read_pools_file(text, file_, recipe_));
      TRY(out_.load, load_of_pools_file(text, file_, recipe_));
      return std::move(both.lines);
    }
    if (!recipe_.empty())
      return fail(file_, fmt::format("'{:.60}' behind its name is no line, and it holds no recipes", recipe_),
          fmt::format("{}:12 for the command of line 12", file_));
    return looks_like_deployment(text) ? deployment_lines(text, file_, source_.defined)
                                       : shell_lines(text, file_, source_.defined);
  }

  Expected<void> take(EngineLine line) {
    const EngineProgram& program = *line.program;
    if (makes_requests(line)) return out_.made.push_back(made_requests(line)), Expected<void>{};
    if (!program.prompts_at.empty()) return out_.routed = true, add_ports(line, out_.ports), Expected<void>{};
    if (program.engine.empty() && program.loads) return add(std::move(line), out_.benches);
    if (at_line_ > 0 && line.line != at_line_) return {};
    if (!program.refused.empty())
      return fail(fmt::format("{}:{} {}", file_ == "--" ? "command line" : file_, line.line, program.words),
          std::string(program.refused), "the line of an engine that serves by itself");
    return program.starts_pools ? take_pools(line) : add(std::move(line), out_.servers);
  }

  Expected<void> take_pools(const EngineLine& line) {
    const ShellWord* named = pools_file_word(line);
    if (named == nullptr || !named->unset.empty())
      return fail(fmt::format("{}:{} {}", line.where, line.line, line.program->words),
          "which file describes its pools is not told", "-c disagg_config.yaml beside the launch");
    TRY(const auto file, text_of_named(line, folders_, named->text, std::string(line.program->words)));
    TRY(auto both, read_pools_file(file.text, file.path));
    described_ = std::move(both.lines), out_.ports = std::move(both.ports);
    return {};
  }

  Expected<void> add(EngineLine line, std::vector<FoundLine>& to) {
    TRY(auto said, said_arguments(line, folders_));
    to.push_back(found_line(std::move(line), std::move(said)));
    return {};
  }

  const EngineLaunchSource& source_;
  const std::string& file_;
  std::size_t at_line_;
  const std::string& recipe_;
  launch::LaunchFolders folders_;
  std::vector<EngineLine> described_;
  Commands out_;
};

/// Of several files of requests the one that the benchmark reads; nullopt: it is not told.
std::optional<MadeRequests> read_requests(const std::vector<std::optional<MadeRequests>>& made, SaidArguments server) {
  if (made.empty()) return std::nullopt;
  if (std::ranges::count(made, made.front()) == std::ssize(made)) return made.front();
  // of requests that are not told nobody knows which file they are in
  if (std::ranges::any_of(made, [](const std::optional<MadeRequests>& one) { return !one; })) return std::nullopt;
  auto file = server.program->loads ? server.text("dataset") : std::nullopt;
  if (file) file = std::filesystem::path(*file).lexically_normal().string();
  std::optional<MadeRequests> found;
  for (const std::optional<MadeRequests>& one : made)
    if (file && one && one->file == *file) found = one;  // the last one that was written
  return found;
}

/// Benchmarks that run beside each other: what they are together is no load of one of them.
std::string at_once(const std::vector<FoundLine>& benches) {
  for (std::size_t i = 0; i < benches.size(); ++i) {
    const EngineLine& first = benches[i].line;
    if (!first.beside) continue;
    for (std::size_t j = i + 1; j < benches.size(); ++j)
      if (const std::size_t next = benches[j].line.line;
          first.waited_at == 0 || first.waited_at > next || first.line == next)
        return fmt::format("{}: the benchmarks of lines {} and {} run beside each other, and loads of several together "
                           "are not forecast",
            first.where, first.line, next);
  }
  return "";
}

/// A variable has a name; what a command or a sum comes to has none that --define could set, and words of lists are not
/// read, whoever sets them.
std::string hangs_on(const SaidArguments& said, const GivenArgument& given) {
  const std::string& first = given.unset.front();
  const bool named = std::ranges::all_of(first, is_shell_name);
  return fmt::format("{} hangs on {}{}, which {}", place_of_argument(said, given), named ? "$" : "",
      fmt::join(given.unset, " and "),
      named                  ? fmt::format("nothing sets: --define {}=...", first)
      : first.ends_with(']') ? "is not read"
                             : "nothing sets");
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

bool has_engine(const EngineLaunchSource& source) {
  const auto commands = CommandReader(source, named_launch(source.file)).read();
  return !commands || !commands->servers.empty() || !commands->benches.empty();
}

Expected<EngineLaunch> read_engine_launch(const EngineLaunchSource& source) {
  const NamedLaunch named = named_launch(source.file);
  const std::string shown = named.file == "--" ? "command line" : named.file;
  TRY(auto commands, CommandReader(source, named).read());
  // of the command that the user names every load is meant
  const bool as_told = commands.routed || named.line > 0;
  auto addressed = addressed_engines(std::move(commands.servers), std::move(commands.benches), as_told);
  TRY(auto pools, pools_of(std::move(addressed.servers), commands.ports, shown));
  EngineLaunch out;
  static_cast<EnginePool&>(out) = std::move(pools.server);
  out.prompts = std::move(pools.prompts), out.load = std::move(commands.load);
  if (out.prompts) {
    for (const std::string& doubt : out.prompts->doubts)
      if (!contains(out.doubts, doubt)) out.doubts.push_back(doubt);
    for (const std::string& note : out.prompts->notes)
      if (!contains(out.notes, note)) out.notes.push_back(note);
    if (!out.host.kind.empty() && !out.prompts->host.kind.empty() && out.prompts->host.kind != out.host.kind)
      out.unlike_gpus = fmt::format(
          "prompts are read on GPUs '{:.40}' and tokens said on '{:.40}': --machine and --prefill-machine say which",
          out.prompts->host.kind, out.host.kind);
  }
  out.made = read_requests(commands.made, out.server);
  if (out.server.program->loads) return out;
  out.load_doubts = std::move(addressed.doubts);
  out.notes.insert(out.notes.end(), addressed.notes.begin(), addressed.notes.end());
  if (const std::string both = at_once(addressed.benches); !both.empty()) out.load_doubts.push_back(both);
  // Loops over loads are benchmarks of their own: flags say which of them is meant.
  auto bench = only_one(addressed.benches, shown, "load it");
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
  if (!launch.unlike_gpus.empty()) doubts.push_back(launch.unlike_gpus);
  doubts.insert(doubts.end(), launch.load_doubts.begin(), launch.load_doubts.end());
  const auto look_at = [&](const SaidArguments& said, bool hangs) {
    doubts.insert(doubts.end(), said.unknown.begin(), said.unknown.end());
    for (const GivenArgument& given : said.all) {
      const launch::ArgumentFact* fact = fact_of(said.table(), counted_name(said.table(), given.name));
      const Standing standing = standing_of(said, given);
      if (!said.counts(given)) continue;
      if (hangs && standing == Standing::used && !given.unset.empty()) doubts.push_back(hangs_on(said, given));
      if (standing == Standing::refused && !(launch.prompts && joins_pools(said, given)))
        refused.push_back(fmt::format("{} {:.40} ({})", place_of_argument(said, given), given.value, fact->refused));
      if (standing != Standing::not_forecast) continue;
      aside.push_back(given.spelled.empty() ? given.name : given.spelled);
      if (!fact->trap.empty()) warnings.push_back(fmt::format("{}: {}", aside.back(), fact->trap));
    }
  };
  look_at(launch.server, true);
  if (launch.prompts) look_at(launch.prompts->server, true);
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
