#include "studies/gate/run_cases.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "studies/cli/interrupt.h"
#include "studies/cli/output_file.h"
#include "studies/cli/progress_line.h"
#include "studies/cli/shell_word.h"
#include "studies/gate/expected.h"

namespace stepcast::gate {
namespace {

namespace fs = std::filesystem;

struct RunPlace {
  std::string output, manifest, failed;
};
RunPlace place_of(const std::string& folder, std::size_t repeat) {
  const std::string stem = (fs::path(folder) / fmt::format("{:03}", repeat)).string();
  return {stem + ".out", stem + ".manifest.json", stem + ".failed"};
}

/// A run that is there counts; the first numbers that are free are the next ones.
std::vector<std::size_t> missing_runs(const std::string& folder, std::size_t wanted, std::size_t more) {
  std::vector<std::size_t> missing;
  std::size_t there = 0, number = 1;
  std::error_code unknown;
  for (; number <= wanted || (more > 0 && missing.size() < more); ++number) {
    if (fs::exists(place_of(folder, number).output, unknown)) ++there;
    else if (more == 0 || missing.size() < more) missing.push_back(number);
  }
  return missing;
}

using Values = std::vector<std::pair<std::string, std::string>>;

/// Ctrl-C goes to the command too, and std::system() hides it from this program.
bool was_interrupted(int status) {
  constexpr int shells_word = 128;  // what a shell adds to the number of the signal
  if (status == -1) return false;
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGINT : WEXITSTATUS(status) == shells_word + SIGINT;
}

/// How a command ended, in words; "" = well.
std::string ending_of(int status) {
  if (status == -1) return "the shell could not be started";
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : fmt::format("exit code {}", code);
}

Expected<void> write_manifest(const RunPlace& place, const Manifest& manifest) {
  TRY(auto output,
      OutputFile::open({.name = place.manifest, .flag = "runs", .own = nullptr, .inputs = {}, .force = true}));
  return output.write(manifest_json(manifest));
}

class CaseRunner {
 public:
  CaseRunner(const GateFile& file, const GateCase& one, std::int64_t gpus, const ManifestSources& sources)
      : file_(file), case_(one), gpus_(gpus), sources_(sources),
        folder_(fs::absolute(fs::path(file.runs) / one.name).string()) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }
  Expected<void> check() const {
    return command_for(1).map([](const std::string&) {});
  }

  /// In words what went wrong; "" = nothing.
  Expected<std::string> run(std::size_t repeat) const {
    const RunPlace place = place_of(folder_, repeat);
    TRY(const auto command, command_for(repeat));
    const bool prints = case_.command.find("{output}") == std::string::npos;
    const bool describes = case_.command.find("{manifest}") != std::string::npos;
    const std::string part = place.output + ".part";
    if (!describes) TRY(write_manifest(place, manifest(repeat, command)));
    // what a run leaves is a result only once it has ended well
    const std::string line = prints ? fmt::format("{{ {}\n}} > {} 2>&1", command, shell_word(part)) : command;
    const int status = std::system(line.c_str());
    if (was_interrupted(status)) throw Interrupted(fmt::format("interrupted in {}, run {}", case_.name, repeat));
    std::string ending = ending_of(status);
    std::error_code problem;
    const std::string written = prints ? part : place.output;
    if (ending.empty() && !fs::exists(written, problem)) ending = "it wrote no output";
    if (ending.empty() && describes && !fs::exists(place.manifest, problem)) ending = "it wrote no manifest";
    const bool left = fs::exists(written, problem);
    if (left) fs::rename(written, ending.empty() ? place.output : place.failed, problem);
    if (ending.empty()) return std::string();
    return fmt::format("{}, run {}: {}{}", case_.name, repeat, ending, left ? "; see " + place.failed : "");
  }

 private:
  [[nodiscard]] std::string seed_of(std::size_t repeat) const {
    return case_.seed < 0 ? "" : fmt::format("{}", case_.seed + static_cast<std::int64_t>(repeat) - 1);
  }
  [[nodiscard]] Expected<std::string> command_for(std::size_t repeat) const {
    const RunPlace place = place_of(folder_, repeat);
    Values values{{"case", case_.name}, {"repeat", fmt::format("{}", repeat)}, {"output", shell_word(place.output)},
        {"manifest", shell_word(place.manifest)},
        {"folder", shell_word(fs::absolute(file_.folder.empty() ? "." : file_.folder).string())}};
    if (case_.seed >= 0) values.emplace_back("seed", seed_of(repeat));
    if (gpus_ > 0) values.emplace_back("gpus", fmt::format("{}", gpus_));
    return filled_template(case_.command, values, case_.where + "/command");
  }
  [[nodiscard]] Manifest manifest(std::size_t repeat, const std::string& command) const {
    const auto seed = case_.seed < 0 ? std::nullopt : std::optional(seed_of(repeat));
    return make_manifest(file_.folder, file_.environment,
        {{"case", case_.name}, {"repeat", fmt::format("{}", repeat)}, {"command", command}, {"seed", seed}}, sources_);
  }

  const GateFile& file_;
  const GateCase& case_;
  std::int64_t gpus_;
  const ManifestSources& sources_;
  std::string folder_;
};

Expected<std::int64_t> gpus_of(const GateCase& one) {
  if (one.gpus > 0 || one.forecast.empty()) return one.gpus;
  TRY(const auto forecast, forecast_case(one.forecast, one.where + "/forecast"));
  return static_cast<std::int64_t>(forecast.work.gpus);
}

Expected<std::vector<const GateCase*>> cases_to_run(const GateFile& file, const std::string& only) {
  std::vector<const GateCase*> chosen;
  for (const GateCase& one : file.cases)
    if (only.empty() ? !one.command.empty() : one.name == only) chosen.push_back(&one);
  if (!chosen.empty() && !chosen.front()->command.empty()) return chosen;
  if (!only.empty() && chosen.empty())
    return fail("--case", fmt::format("no case is named '{:.60}'", only),
        name_hint(only, names_of(file.cases, &GateCase::name)));
  return fail(file.path, only.empty() ? "no case has a command" : fmt::format("{} has no command", only),
      R"("command": "srun --gpus {gpus} train.sh > {output}")");
}

}  // namespace

Expected<std::string> filled_template(const std::string& text, const Values& values, const std::string& where) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "{{") == 0 || text.compare(at, 2, "}}") == 0) {
      out += text[at];
      at += 2;
      continue;
    }
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += text[at++];
      continue;
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& value : values) names.push_back(value.first);
      return fail(where, fmt::format("{{{:.40}}} is not known here", name),
          name_hint(name, names) + "; {{ and }} are braces; {seed} needs \"seed\", {gpus} \"gpus\" or a forecast");
    }
    out += found->second;
    at = end + 1;
  }
  return out;
}

Expected<StartedRuns> run_cases(
    const GateFile& file, const std::string& only, std::size_t more, const ManifestSources& sources, Console& console) {
  TRY(const auto chosen, cases_to_run(file, only));
  std::vector<CaseRunner> runners;
  for (const GateCase* one : chosen) {
    TRY(const auto gpus, gpus_of(*one));
    runners.emplace_back(file, *one, gpus, sources);
    TRY(runners.back().check());
  }
  StartedRuns started;
  const InterruptGuard guard;
  Progress progress(console);
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const CaseRunner& runner = runners[i];
    std::error_code problem;
    fs::create_directories(runner.folder(), problem);
    if (problem)
      return fail(file.path + ":/runs", fmt::format("{}: {}", runner.folder(), problem.message()), "a folder");
    const std::vector<std::size_t> missing = missing_runs(runner.folder(), chosen[i]->repeats, more);
    if (more == 0) started.kept += chosen[i]->repeats - missing.size();
    for (const std::size_t repeat : missing) {
      progress.show(fmt::format("{}, run {}", chosen[i]->name, repeat));
      TRY(const auto trouble, runner.run(repeat));
      if (interrupted())
        throw Interrupted(
            fmt::format("interrupted in {}, run {}: {} runs were made", chosen[i]->name, repeat, started.made));
      if (trouble.empty()) ++started.made;
      else started.failed.push_back(trouble);
    }
  }
  return started;
}

}  // namespace stepcast::gate
