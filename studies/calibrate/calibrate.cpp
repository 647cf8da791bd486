// stepcast calibrate WORD: finds the word, and refuses flags that another word takes.
#include "studies/calibrate/calibrate.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "studies/cli/output_file.h"

namespace stepcast::calibration {
namespace {

struct CalibrateWord {
  std::string_view name, usage;
  std::size_t least_words, most_words;  ///< after the word itself
  bool takes_context;                   ///< and so context_flags()
  std::vector<std::string_view> flags;
  Expected<void> (*run)(const Arguments& arguments, Console& console);
};

constexpr std::size_t most_files = 100'000;

const std::vector<CalibrateWord>& calibrate_words() {
  static const std::vector<CalibrateWord> rows = {
      {"measure", "[--budget 180s] [--model NET] [--only PHASE,..] [--dry-run] -o M.json [--profile PROFILE.json]", 0,
          0, false,
          {"--output", "--json", "--budget", "--model", "--seq", "--only", "--gpu", "--gpu-index", "--profile",
              "--dry-run", "--resume", "--seed", "--id", "--start"},
          calibrate_measure},
      {"import", "FILES... -o M.json [flags]", 1, most_files, true, {"--output", "--format", "--json"},
          calibrate_import},
      {"fit", "M.json... -o PROFILE.json [--hold-out 0.2] [flags]", 1, most_files, true,
          {"--output", "--format", "--json", "--hold-out", "--id", "--start", "--keep-laws"}, calibrate_fit},
      {"runs", "LOG|RUNS.json|built-in... [--machine ID] [-o PROFILE.json] [flags]", 1, most_files, false,
          {"--output", "--json", "--machine", "--gpus", "--model", "--launch", "--parameters", "--leave-out", "--id",
              "--start"},
          calibrate_runs},
      {"scans", "TABLE... [-o PROFILE.json --start ID|FILE]", 1, most_files, false,
          {"--output", "--json", "--id", "--start"}, calibrate_scans},
      {"engines", "RECORDS... [--engine ID -o ENGINE.json]", 1, most_files, false, {"--output", "--json", "--engine"},
          calibrate_engines},
      {"served", "OUTPUT... --machine ID --tp N [-o RECORDS.json] [flags]", 1, most_files, false,
          {"--output", "--json", "--machine", "--engine", "--release", "--model", "--weights", "--kv", "--tp", "--pp",
              "--ep", "--dp-attention", "--concurrency", "--rate", "--input", "--output-tokens"},
          calibrate_served},
      {"layers", "NETWORK... -o LAYERS.json | LAYERS.json PROFILE", 1, most_files, false,
          {"--output", "--json", "--seq", "--gpu", "--gpu-index"}, calibrate_layers},
      {"show", "PROFILE [--json]", 1, 1, false, {"--json"}, calibrate_show},
      {"compare", "A B [--json]", 2, 2, false, {"--json"}, calibrate_compare},
  };
  return rows;
}

Expected<const CalibrateWord*> find_word(const std::string& name) {
  std::vector<std::string> names;
  for (const CalibrateWord& row : calibrate_words()) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  return fail(name.substr(0, 60), "unknown word after calibrate", name_hint(name, names));
}

Expected<void> check_use(const CalibrateWord& word, const Arguments& arguments) {
  const std::size_t words = arguments.words.size() - 1;
  const std::string usage = fmt::format("usage: stepcast calibrate {} {}", word.name, word.usage);
  if (words < word.least_words) return fail("command line", "something is missing", usage);
  if (words > word.most_words)
    return fail(
        "command line", fmt::format("unexpected argument '{:.60}'", arguments.words[word.most_words + 1]), usage);
  std::vector<std::string> own(word.flags.begin(), word.flags.end());
  if (word.takes_context)
    for (const Flag& flag : context_flags()) own.emplace_back(flag.name);
  if (contains(own, "--output")) own.emplace_back(force_flag.name);
  for (const auto& [flag, value] : arguments.flags)
    if (std::find(own.begin(), own.end(), flag) == own.end())
      return fail(flag, fmt::format("does not go with calibrate {}", word.name), name_hint(flag, own));
  return {};
}

// clang-format off
constexpr std::array own_flags = {
    force_flag,
    Flag{.name = "--output", .key = "", .value = "FILE", .group = "Output",
         .doc = "written whole or not at all (measure, import: measurements; layers: layers; fit: the profile)", .alias = "-o"},
    Flag{.name = "--json", .key = "", .value = "", .group = "Output", .doc = "the report as one JSON document",
         .kind = FlagKind::toggle},
    Flag{.name = "--hold-out", .key = "", .value = "SHARE", .group = "fit",
         .doc = "of the shapes forecast by the others, in turn (default 0.2: five turns)"},
    Flag{.name = "--id", .key = "", .value = "NAME", .group = "fit", .doc = "of the profile (default GPU-measured)"},
    Flag{.name = "--start", .key = "", .value = "ID|FILE", .group = "fit",
         .doc = "profile that gives what was not measured (default: the GPU's own)"},
    Flag{.name = "--keep-laws", .key = "", .value = "", .group = "fit",
         .doc = "laws of --start that were fitted stay, so that steps are priced as before; corrections are new",
         .kind = FlagKind::toggle},
    Flag{.name = "--budget", .key = "", .value = "TIME", .group = "measure",
         .doc = "that measuring may take: \"180 s\" (default), \"10 min\""},
    Flag{.name = "--model", .key = "", .value = "NET,..", .group = "measure",
         .doc = "whose shapes are measured first and exactly: catalogue ids or files", .repeats = true},
    Flag{.name = "--seq", .key = "", .value = "N", .group = "measure",
         .doc = "positions per sequence: of --model (default 4096); layers: of each network", .kind = FlagKind::count, .least = 1,
         .most = 1 << 24},
    Flag{.name = "--gpu-index", .key = "", .value = "N", .group = "measure",
         .doc = "which GPU of this machine, in the driver's order (default 0)", .kind = FlagKind::count, .least = 0,
         .most = 1023},
    Flag{.name = "--profile", .key = "", .value = "FILE", .group = "measure",
         .doc = "where the profile goes that is fitted at the end"},
    Flag{.name = "--dry-run", .key = "", .value = "", .group = "measure",
         .doc = "print the plan and measure nothing; with --gpu ID for a GPU that is not here",
         .kind = FlagKind::toggle},
    Flag{.name = "--resume", .key = "", .value = "", .group = "measure",
         .doc = "go on with what --output holds already", .kind = FlagKind::toggle},
    Flag{.name = "--seed", .key = "", .value = "N", .group = "measure",
         .doc = "of the order in which things are timed (default 1)", .kind = FlagKind::count, .least = 0,
         .most = std::int64_t{1} << 40},
    Flag{.name = "--machine", .key = "", .value = "ID", .group = "runs",
         .doc = "that the logs are of, where they do not name the GPU"},
    Flag{.name = "--engine", .key = "", .value = "ID", .group = "engines",
        .doc = "whose tunings are fitted, an id or a file (default: all; with -o one)"},
    Flag{.name = "--release", .key = "", .value = "ID", .group = "served", .doc = "of the engine: 0.10"},
    Flag{.name = "--weights", .key = "", .value = "TYPE", .group = "served",
         .doc = "number type, where the name of the model does not tell it"},
    Flag{.name = "--kv", .key = "", .value = "TYPE", .group = "served", .doc = "number type of the cache (default bf16)"},
    Flag{.name = "--tp", .key = "", .value = "N", .group = "served", .doc = "ranks that split the engine's matrices",
         .kind = FlagKind::count, .least = 1, .most = 32'768},
    Flag{.name = "--pp", .key = "", .value = "N", .group = "served", .doc = "its stages (default 1)",
         .kind = FlagKind::count, .least = 1, .most = 32'768},
    Flag{.name = "--ep", .key = "", .value = "N", .group = "served", .doc = "ranks that whole experts lie on (default 1)",
         .kind = FlagKind::count, .least = 1, .most = 32'768},
    Flag{.name = "--dp-attention", .key = "", .value = "N", .group = "served",
         .doc = "groups with sequences of their own (default 1)", .kind = FlagKind::count, .least = 1, .most = 32'768},
    Flag{.name = "--concurrency", .key = "", .value = "N", .group = "served",
         .doc = "requests at once, where the file does not say", .kind = FlagKind::count, .least = 1, .most = 1'000'000},
    Flag{.name = "--rate", .key = "", .value = "PER_S", .group = "served",
         .doc = "requests per second, where the file does not say"},
    Flag{.name = "--input", .key = "", .value = "N", .group = "served",
         .doc = "positions of a prompt (default: the file's mean)", .kind = FlagKind::count, .least = 1, .most = 10'000'000},
    Flag{.name = "--output-tokens", .key = "", .value = "N", .group = "served",
         .doc = "output tokens of a request (default: the file's mean)", .kind = FlagKind::count, .least = 1, .most = 10'000'000},
    Flag{.name = "--gpus", .key = "", .value = "N", .group = "runs", .doc = "in use, where a log does not say",
         .kind = FlagKind::count, .least = 1, .most = 10'000'000},
    Flag{.name = "--launch", .key = "", .value = "FILE,..", .group = "runs",
         .doc = "command or configuration that started the jobs: one for all logs, or one for each in their order",
         .repeats = true},
    Flag{.name = "--parameters", .key = "", .value = "NAME,..", .group = "runs",
         .doc = "at most three step parameters to fit (default: those that the software's row names)"},
    Flag{.name = "--leave-out", .key = "", .value = "WHAT", .group = "runs",
         .doc = "source, model, release or run, in turn, for the held-out error (default: the first of which there are "
                "several)"},
    Flag{.name = "--format", .key = "", .value = "NAME", .group = "Files that do not say all",
         .doc = "measurements nccl-tests nccl-json table nvbench google-benchmark nsys kineto (default: by content)"},
};
// clang-format on

}  // namespace

std::span<const Flag> calibrate_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all(own_flags.begin(), own_flags.end());
    const auto context = context_flags();
    all.insert(all.end(), context.begin(), context.end());
    return all;
  }();
  return flags;
}

Expected<void> calibrate_command(const Arguments& arguments, Console& console) {
  TRY(const auto word, find_word(arguments.words.at(0)));
  TRY(check_use(*word, arguments));
  Arguments rest = arguments;
  rest.words.erase(rest.words.begin());
  return word->run(rest, console);
}

}  // namespace stepcast::calibration
