#include "calibrate/import/scripts/launch_arguments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/import/scripts/launch_reader.h"
#include "calibrate/import/scripts/launchers.h"
#include "calibrate/import/shell/reader.h"

namespace stepcast::calibrate {
namespace {

/// Of the variables whose quotes do not close, those that it asks for.
void add_unclosed(LaunchLine& launch, const std::map<std::string, std::size_t>& unclosed) {
  for (const auto& [name, line] : unclosed) {
    const auto asks = [&, &name = name](const GivenArgument& given) {
      return std::find(given.unset.begin(), given.unset.end(), name) != given.unset.end();
    };
    const bool bare = std::any_of(launch.unknown.begin(), launch.unknown.end(),
        [&, &name = name](const std::string& text) { return text.find(name) != text.npos; });
    if (bare || std::any_of(launch.given.begin(), launch.given.end(), asks)) launch.unclosed.emplace(name, line);
  }
}

}  // namespace

Expected<std::vector<LaunchLine>> find_launches(std::string_view text, const std::string& where,
    const ArgumentMap& defined, const SourcedText& sourced, const std::set<std::string>* empty) {
  TRY(const auto script,
      read_shell(
          text, where, [](std::string_view word) { return is_launcher(word) || is_command_program(word); }, defined,
          sourced, empty));
  std::map<std::string, LaunchLine> headers;  // of each job
  std::string job = "0";
  std::vector<LaunchLine> launches;
  for (const ShellCommand& command : script.commands) {
    LaunchLine& header = headers[job];
    if (command.words.front().text == "#JOB") job = command.words.back().text;
    else if (command.words.front().text == "#SBATCH") LaunchReader::add_batch(command, header);
    else if (auto launch = LaunchReader(command, bool(sourced)).read(header)) launches.push_back(std::move(*launch));
  }
  // Each launch has all files; of thousands of launches, as logs may show, the first ones.
  constexpr std::size_t most_file_bytes = 64 * 1024 * 1024;
  std::size_t bytes = 0;
  for (LaunchLine& launch : launches) {
    add_unclosed(launch, script.unclosed);
    if (!script.sourced.empty()) launch.sourced = script.sourced;
    launch.unfollowed.insert(launch.unfollowed.begin(), script.unfollowed.begin(), script.unfollowed.end());
    launch.changed = script.changed, launch.open = script.open;
    for (const ShellFile& file : script.files) {
      bytes += file.text.size() + sizeof(LaunchFile);
      if (bytes > most_file_bytes) break;
      launch.files.push_back({file.name, file.text, file.line, file.unset});
    }
  }
  return launches;
}

LaunchLine launch_of_words(const std::vector<std::string>& words) {
  ShellCommand command{1, {}, {}, {}, {}};
  for (const std::string& word : words) command.words.push_back({word, 1, {}, false});
  if (auto launch = LaunchReader(command).read({})) return std::move(*launch);
  return LaunchReader(command).read_arguments();
}

}  // namespace stepcast::calibrate
