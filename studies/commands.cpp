#include "studies/commands.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "studies/help.h"
#include "studies/cli/interrupt.h"

namespace stepcast::studies {
namespace {

bool asks_help(const std::vector<std::string>& typed) {
  return std::any_of(
      typed.begin(), typed.end(), [](const std::string& word) { return word == "--help" || word == "-h"; });
}

Expected<const Command*> find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
    names.emplace_back(command.name);
  }
  const char* kind = name.starts_with("-") ? "flag" : "command";
  return fail(name.substr(0, 60), fmt::format("unknown {}", kind), name_hint(name, names));
}

Expected<void> run_command(const std::vector<std::string>& typed, Console& console) {
  TRY(const auto command, find_command(typed[0]));
  const std::vector<std::string> rest(typed.begin() + 1, typed.end());
  if (asks_help(rest)) {
    console.out << command_help(*command);
    return {};
  }
  const std::string usage = fmt::format("stepcast {} {}", command->name, command->usage);
  TRY(const auto arguments, parse_arguments(command->flags, command->least_words, command->most_words, usage, rest));
  return command->run(arguments, console);
}

int failed(Console& console, const std::string& what) {
  console.err << "stepcast: the run failed: " << what << '\n';
  return 1;
}

}  // namespace

int run_program(const std::vector<std::string>& typed, Console& console) {
  if (typed.empty()) {
    console.err << program_help(commands());
    return 2;
  }
  const bool of_one = typed[0] == "help" && typed.size() > 1;  // "help predict" is "predict --help"
  if (!of_one && (typed[0] == "--help" || typed[0] == "-h" || typed[0] == "help")) {
    console.out << program_help(commands());
  } else if (typed[0] == "--version") {
    console.out << version_text();
  } else {
    try {
      const std::vector<std::string> words = of_one ? std::vector<std::string>{typed[1], "--help"} : typed;
      if (const auto done = run_command(words, console); !done) {
        console.err << error_text(done.error());
        return 2;
      }
    } catch (const Interrupted& end) {
      console.err << "stepcast: " << end.what() << '\n';
      return 1;
    } catch (const std::exception& problem) {
      return failed(console, problem.what());
    }
  }
  if (!console.out.flush()) return failed(console, "the output could not be written");
  return 0;
}

}  // namespace stepcast::studies
