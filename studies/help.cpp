#include "studies/help.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/bench/device.h"
#include "model/version.h"

namespace stepcast::studies {
namespace {

std::string left_column(const Flag& flag) {
  const std::string names = flag.alias.empty() ? std::string(flag.name) : fmt::format("{}, {}", flag.alias, flag.name);
  return flag.value.empty() ? names : fmt::format("{} {}", names, flag.value);
}

std::string flags_by_group(std::span<const Flag> flags) {
  std::size_t width = 0;
  for (const Flag& flag : flags) width = std::max(width, left_column(flag).size());
  std::string text;
  std::string_view group;
  for (const Flag& flag : flags) {
    if (flag.group != group) text += fmt::format("\n{}\n", flag.group);
    group = flag.group;
    text += fmt::format("  {:<{}}  {}\n", left_column(flag), width, flag.doc);
  }
  return text;
}

}  // namespace

std::string program_help(std::span<const Command> commands) {
  std::string text =
      "stepcast forecasts what training steps, serving and whole jobs of large models cost on GPU clusters.\n\n"
      "Usage: stepcast COMMAND ...\n\nCommands\n";
  for (const Command& command : commands) text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  text += "\nExamples\n";
  for (const Command& command : commands) text += fmt::format("  {}\n", command.examples.front());
  return text + "\nstepcast help COMMAND shows what a command takes, stepcast --version what was built.\n"
                "Exit codes: 0 done, 1 the run failed, 2 bad usage or input.\n";
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("Usage: stepcast {} {}\n\n{}\n", command.name, command.usage, command.about);
  text += flags_by_group(command.flags);
  text += "\nExamples\n";
  for (const std::string_view example : command.examples) text += fmt::format("  {}\n", example);
  return text;
}

std::string error_text(const Error& error) {
  std::string text = fmt::format("stepcast: {}{}{}\n", error.where, error.where.empty() ? "" : ": ", error.what);
  if (!error.hint.empty()) text += fmt::format("  {}\n", error.hint);
  return text;
}

std::string version_text() { return fmt::format("stepcast {} ({})\n", version(), cuda_support()); }

}  // namespace stepcast::studies
