#include "studies/gate/gate.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "studies/cli/negative_answer.h"
#include "studies/cli/output_file.h"
#include "studies/gate/check.h"
#include "studies/gate/manifest.h"
#include "studies/gate/report.h"
#include "studies/gate/run_cases.h"

namespace stepcast::gate {
namespace {

/// Flags that only one of the words takes.
struct WordFlags {
  std::string_view word;
  std::vector<std::string_view> flags;
};
const WordFlags word_flags[] = {
    {"check", {"--record", "--commit", "--json", "--markdown", "--junit", "--annotations", "--force"}},
    {"run", {"--case", "--more", "--json"}}, {"manifest", {"--json"}}};

Expected<void> check_flags(const Arguments& arguments) {
  const std::string& word = arguments.words.front();
  for (const WordFlags& row : word_flags) {
    if (row.word != word) continue;
    for (const auto& [name, value] : arguments.flags)
      if (std::find(row.flags.begin(), row.flags.end(), name) == row.flags.end())
        return fail(name, fmt::format("gate {} does not take it", word), "stepcast gate --help");
    return {};
  }
  return fail("gate", fmt::format("'{:.40}' is nothing that a gate does", word),
      "check FILE, run FILE, or manifest FILE for what a run's manifest holds");
}

bool is_junit_file(const std::string& name) { return file_holds(name, "<testsuites name=\"stepcast gate\""); }

std::string text_and_annotations(const GateReport& report, const Arguments& arguments, const Console& console) {
  const std::string system = arguments.value("--annotations");
  if (arguments.has("--json")) return gate_json(report);
  if (arguments.has("--markdown")) return gate_markdown(report);
  if (system == "gitlab") return gate_gitlab(report);
  return gate_text(report, console) + (system == "github" ? gate_github(report) : "");
}

Expected<void> check_forms(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const char* flag : {"--json", "--markdown", "--annotations"})
    if (arguments.has(flag)) given.emplace_back(flag);
  if (given.size() > 1)
    return fail(given[1], fmt::format("does not go with {}", given[0]), "one of them at a time; --junit goes with all");
  if (!arguments.has("--record") && arguments.has("--commit"))
    return fail("--commit", "nothing is recorded", "--record");
  return {};
}

Expected<void> check_word(const Arguments& arguments, Console& console) {
  TRY(check_forms(arguments));
  TRY(const auto file, read_gate_file(arguments.words.at(1)));
  const bool record = arguments.has("--record");
  if (record && file.history.empty())
    return fail("--record", "the file names no history", "\"history\": \"gate.sqlite\"");
  std::optional<OutputFile> junit;
  if (arguments.has("--junit")) {
    TRY(auto opened, OutputFile::open(output_place(arguments, "--junit", is_junit_file)));
    junit.emplace(std::move(opened));
  }
  std::string commit = arguments.value("--commit");
  if (record && commit.empty()) commit = commit_of(file.folder, this_machine());
  TRY(const auto report, check_gate(file, record, commit));
  if (junit) junit->finish(gate_junit(report));
  console.out << text_and_annotations(report, arguments, console);
  if (const std::size_t slower = report.count(Finding::slower); slower > 0)
    throw NegativeAnswer(
        fmt::format("{} of {} cases {} slower", slower, report.cases.size(), slower == 1 ? "is" : "are"));
  return {};
}

Expected<void> run_word(const Arguments& arguments, Console& console) {
  TRY(const auto file, read_gate_file(arguments.words.at(1)));
  const std::size_t more = arguments.has("--more") ? std::stoull(arguments.value("--more")) : 0;
  TRY(const auto started, run_cases(file, arguments.value("--case"), more, this_machine(), console));
  if (arguments.has("--json")) {
    JsonWriter json;
    json.open();
    json.fields("runs_made", started.made, "runs_kept", started.kept, "runs_failed", started.failed.size(), "failed",
        started.failed);
    json.close();
    console.out << json.text();
  } else {
    console.out << fmt::format(
        "{} made, {} there from before, {} failed\n", started.made, started.kept, started.failed.size());
    for (const std::string& failed : started.failed) console.out << "  " << failed << '\n';
  }
  if (!started.failed.empty()) throw NegativeAnswer(fmt::format("{} runs failed", started.failed.size()));
  return {};
}

}  // namespace

std::span<const Flag> gate_flags() {
  // clang-format off
  static const std::array flags = {
      Flag{.name = "--record", .key = "", .value = "", .group = "check",
           .doc = "add these results to the history, for later checks to be held against", .kind = FlagKind::toggle},
      Flag{.name = "--commit", .key = "", .value = "TEXT", .group = "check",
           .doc = "what --record calls this state (default: git's HEAD where the file lies)"},
      Flag{.name = "--markdown", .key = "", .value = "", .group = "check", .doc = "for a pull request or a job's summary",
           .kind = FlagKind::toggle},
      Flag{.name = "--junit", .key = "", .value = "FILE", .group = "check", .doc = "also write JUnit XML"},
      Flag{.name = "--annotations", .key = "", .value = "SYSTEM", .group = "check",
           .doc = "github: workflow commands behind the text; gitlab: a code quality report instead of it",
           .check = [](const std::string& text, const std::string& where) -> Expected<void> {
             if (text == "github" || text == "gitlab") return {};
             return fail(where, fmt::format("'{:.40}' is no system known here", text), "github or gitlab");
           }},
      Flag{.name = "--case", .key = "", .value = "NAME", .group = "run", .doc = "start only this case"},
      Flag{.name = "--more", .key = "", .value = "N", .group = "run",
           .doc = "N runs beyond those that are there (default: what is missing up to repeats)",
           .kind = FlagKind::count, .most = 10'000},
      force_flag,
      Flag{.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document with base units",
           .kind = FlagKind::toggle}};
  // clang-format on
  return flags;
}

Expected<void> gate_command(const Arguments& arguments, Console& console) {
  TRY(check_flags(arguments));
  const std::string& word = arguments.words.front();
  if (word != "manifest" && arguments.words.size() < 2)
    return fail("gate " + word, "no file is named", "stepcast gate check examples/gate/recorded.json");
  if (word == "check") return check_word(arguments, console);
  if (word == "run") return run_word(arguments, console);
  GateFile file;
  if (arguments.words.size() > 1) {
    TRY(file, read_gate_file(arguments.words.at(1)));
  }
  console.out << manifest_json(make_manifest(file.folder, file.environment, {}, this_machine()));
  return {};
}

}  // namespace stepcast::gate
