#include "studies/engines/line/engine_line.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "studies/engines/line/waits.h"

namespace stepcast::engines {
namespace {

/// Words that begin commands which may run a program of the table behind them.
constexpr std::array starters = {"vllm", "vllm-router", "python", "python3", "sglang", "trtllm-serve", "trtllm-bench",
    "trtllm-llmapi-launch", "mpirun", "srun", "docker", "podman", "singularity", "apptainer", "genai-perf", "aiperf",
    "numactl", "taskset", "nsys", "rocprof", "uv", "env", "sudo", "timeout", "torchrun", "tini", "kubectl", "nerdctl",
    "sh", "bash", "setsid", "stdbuf", "ssh", "pdsh", "clush", "sshpass", "oc", "nsenter", "ENTRYPOINT", "CMD"};

bool is_starter(std::string_view word) {
  const std::string_view name = last_of_path(word);
  return std::ranges::find(starters, name) != starters.end() || name.starts_with("python3.") ||
         name.ends_with("benchmark_serving.py") || name.ends_with("benchmark_throughput.py") ||
         name == "prepare_dataset.py";
}

/// How many words call it at that place; 0: they call something else.
std::size_t called_at(const std::vector<ShellWord>& words, std::size_t at, std::string_view called) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < called.size(); ++count) {
    const std::size_t end = std::min(called.find(' ', begin), called.size());
    const std::string_view part = called.substr(begin, end - begin);
    if (at + count >= words.size()) return 0;
    const std::string_view word = words[at + count].text;
    if ((count == 0 ? last_of_path(word) : word) != part) return 0;
    begin = end + 1;
  }
  return count;
}

bool is_container(std::string_view word) {
  const std::string_view name = last_of_path(word);
  return name == "docker" || name == "podman" || name == "nerdctl";
}

/// That of the container's image, which stands in front of the program.
std::string chip_of_words(const std::vector<ShellWord>& words, std::size_t end) {
  std::string chip;
  for (std::size_t at = 0; at < end && chip.empty(); ++at)
    if (!words[at].text.starts_with('-')) chip = other_chip(words[at].text);
  return chip;
}

/// NAME=value behind -e, --env, and of env.
void take_setting(const std::string& text, EngineLine& line) {
  const std::size_t equals = text.find('=');
  if (equals != text.npos && equals > 0) line.environment[text.substr(0, equals)] = text.substr(equals + 1);
}

void take_settings(const std::vector<ShellWord>& words, std::size_t end, EngineLine& line) {
  for (std::size_t at = 0; at < end; ++at) {
    const std::string& text = words[at].text;
    const bool named = at > 0 && (words[at - 1].text == "-e" || words[at - 1].text == "--env");
    if (text.starts_with("--env=")) take_setting(text.substr(6), line);
    else if (named || (!text.starts_with('-') && !words.empty() && words[0].text == "env")) take_setting(text, line);
  }
}

/// What stands in front of a redirection is its number: "2" of 2>&1.
void drop_redirection(std::vector<ShellWord>& words) {
  if (!words.empty() && (words.back().text == "2" || words.back().text == "1") && words.size() > 1 &&
      !words[words.size() - 2].text.starts_with('-'))
    words.pop_back();
}

}  // namespace

std::optional<std::int64_t> number_of_engines(std::string_view text) {
  const auto number = parsed_number<std::int64_t>(text);
  return number && *number >= 0 && *number <= most_engines ? number : std::nullopt;
}

EngineLine line_of_words(std::vector<ShellWord> words, const std::string& where) {
  EngineLine line;
  line.where = where;
  line.line = words.empty() ? 0 : words.front().line;
  const bool container =
      !words.empty() && std::ranges::any_of(words, [](const ShellWord& word) { return is_container(word.text); });
  std::size_t begin = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (const EngineProgram& program : engine_programs())
      if (const std::size_t count = called_at(words, at, program.words); count > 0) {
        line.program = &program, begin = at + count;
        break;
      }
    if (line.program != nullptr && (begin == at + 1 || begin > at)) break;
    if (const EngineProgram* program = container ? program_of_image(words[at].text) : nullptr) {
      line.program = program, begin = at + 1;
      // the image may be told its program all the same
      auto rest = line_of_words({words.begin() + static_cast<std::ptrdiff_t>(begin), words.end()}, where);
      if (rest.program != nullptr) begin = words.size() - rest.words.size(), line.program = rest.program;
      break;
    }
  }
  if (line.program == nullptr) return line;
  take_settings(words, begin, line);
  for (std::size_t at = 0; at < begin; ++at) {
    line.before += words[at].text + ' ';
    if (std::string release = release_of_image(words[at].text); container && !release.empty())
      line.release = std::move(release);
  }
  if (container) line.chip = chip_of_words(words, begin);
  line.host = gpus_of_words(std::span(words).first(begin));
  line.words.assign(std::make_move_iterator(words.begin() + static_cast<std::ptrdiff_t>(begin)),
      std::make_move_iterator(words.end()));
  return line;
}

namespace {

/// The words of all programs that a script calls, to tell two readings of it apart.
std::string called_words(const ShellScript& script) {
  std::string text;
  for (const ShellCommand& command : script.commands) {
    const EngineLine line = line_of_words(command.words, "");
    if (line.program == nullptr) continue;
    for (const ShellWord& word : line.words) text += word.text + ' ';
    text += '\n';
  }
  for (const ShellFile& file : script.files) text += file.text;
  return text;
}

/// A script that cannot be read so starts none.
bool starts_ray(const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined) {
  if (text.find("ray") == text.npos) return false;
  const auto wanted = [](std::string_view word) { return last_of_path(word) == "ray" || is_starter(word); };
  const auto script = read_shell(text, where, wanted, defined);
  if (!script) return false;
  return std::ranges::any_of(script->commands, [](const ShellCommand& command) {
    for (std::size_t at = 0; at < command.words.size(); ++at)
      if (called_at(command.words, at, "ray start") > 0) return true;
    return false;
  });
}

/// Of a batch job's header.
HostGpus gpus_of_header(const ShellScript& script) {
  std::vector<ShellWord> header;
  for (const ShellCommand& command : script.commands)
    if (!command.words.empty() && command.words.front().text == "#SBATCH")
      header.insert(header.end(), command.words.begin(), command.words.end());
  return gpus_of_words(header);
}

/// The same with what is doubted of each command.
std::string called_and_doubted(const ShellScript& script) {
  std::string text = called_words(script);
  for (const ShellCommand& command : script.commands)
    if (line_of_words(command.words, "").program != nullptr)
      for (const std::string& note : command.notes) text += note + '\n';
  return text;
}

/// Variables of open conditions of which each changes the commands, or what is doubted of them, by itself; where none
/// does, all of them.
Expected<std::map<std::string, std::size_t>> that_decide(const ShellScript& script, const std::string& text,
    const std::string& where, const std::map<std::string, std::string>& defined) {
  std::map<std::string, std::size_t> decide;
  const std::string usual = called_and_doubted(script);
  for (const auto& [name, line] : script.open) {
    const std::set<std::string> empty = {name};
    TRY(const auto without, read_shell(text, where, is_starter, defined, {}, &empty));
    if (called_and_doubted(without) != usual) decide.emplace(name, line);
  }
  return decide.empty() ? script.open : decide;
}

/// Conditions that hang on what nothing sets, where the commands differ by how they turn out: which variables, and how
/// to tell them. "" where they do not.
Expected<std::string> open_conditions(const ShellScript& script, const std::string& text, const std::string& where,
    const std::map<std::string, std::string>& defined) {
  if (script.open.empty()) return std::string();
  std::set<std::string> empty;
  for (const auto& [name, line] : script.open) empty.insert(name);
  TRY(const auto again, read_shell(text, where, is_starter, defined, {}, &empty));
  // Both branches may have set what the command takes, whichever of them ran.
  const bool doubted = std::ranges::any_of(script.commands, [](const ShellCommand& command) {
    return !command.notes.empty() && line_of_words(command.words, "").program != nullptr;
  });
  if (!doubted && called_words(again) == called_words(script)) return std::string();
  TRY(const auto decide, that_decide(script, text, where, defined));
  std::string names;
  for (const auto& [name, line] : decide)
    names += fmt::format("{}${} in line {}", names.empty() ? "" : ", ", name, line);
  return fmt::format("conditions may decide its arguments, and they hang on {}: --define {}=... (or = for none)", names,
      decide.begin()->first);
}

}  // namespace

Expected<std::vector<EngineLine>> shell_lines(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined) {
  TRY(const auto script, read_shell(text, where, is_starter, defined));
  TRY(const std::string hangs, open_conditions(script, text, where, defined));
  const bool on_ray = starts_ray(text, where, defined);
  const HostGpus header = gpus_of_header(script);
  std::vector<EngineLine> lines;
  for (const ShellCommand& command : script.commands) {
    EngineLine line = line_of_words(command.words, where);
    if (line.program == nullptr) continue;
    drop_redirection(line.words);
    line.line = command.line;
    for (const auto& names : {command.environment, command.exported})
      for (const auto& [name, value] : names) line.environment.emplace(name, value);
    line.notes = command.notes;
    line.unfollowed = script.unfollowed;
    if (!hangs.empty()) line.unfollowed.push_back(hangs);
    if (command.in_for)
      line.open_copies =
          fmt::format("a loop starts the engine of line {}, and how often is not followed", command.line);
    line.host = within(line.host, header);
    line.output = command.output, line.beside = command.beside && !waits_at_once(text, command.line);
    if (line.beside) line.waited_at = waited_at(text, command.line);
    line.files = script.files, line.on_ray = on_ray;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stepcast::engines
