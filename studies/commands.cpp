#include "studies/commands.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "studies/help.h"
#include "studies/cli/interrupt.h"
#include "studies/cli/negative_answer.h"
#include "studies/cli/shown_text.h"
#include "studies/cli/unwritten.h"

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

constexpr const char *unwritable = "the output could not be written",
                     *room_for_it = "room on its device, and whoever reads it must read to the end";

int failed(Console& console, const std::string& what, const std::string& hint) {
  console.err << "stepcast: the run failed: " << what << "\n  " << hint << '\n';
  return 1;
}

int run_checked(const std::vector<std::string>& typed, Console& console) {
  try {
    const auto done = run_command(typed, console);
    if (done) return 0;
    console.err << error_text(done.error());
    return 2;
  } catch (const Interrupted& end) {
    console.err << "stepcast: " << end.what() << '\n';
    return 1;
  } catch (const NegativeAnswer& no) {
    console.err << "stepcast: " << no.what() << '\n';
    return 1;
  } catch (const std::bad_alloc&) {
    return failed(console, "there is not enough memory for this question",
        "ask for less at once: fewer ranks, micro-batches or configurations");
  } catch (const std::length_error&) {
    return failed(
        console, "the question is too large", "ask for less at once: fewer ranks, micro-batches or configurations");
  } catch (const Unwritten& problem) {
    return failed(console, problem.what(), room_for_it);
  } catch (const std::exception& problem) {
    return failed(console, problem.what(),
        "that is a fault of stepcast, not of what it was asked: report it with the command and its files");
  }
}

int answer(const std::vector<std::string>& typed, Console& console) {
  if (typed.empty()) {
    console.err << program_help(commands());
    return 2;
  }
  int code = 0;
  const bool of_one = typed[0] == "help" && typed.size() > 1;  // "help predict" is "predict --help"
  if (of_one) code = run_checked({typed[1], "--help"}, console);
  else if (typed[0] == "--help" || typed[0] == "-h" || typed[0] == "help") console.out << program_help(commands());
  else if (typed[0] == "--version") console.out << version_text();
  else code = run_checked(typed, console);
  if (code == 0 && !console.out.flush()) return failed(console, unwritable, room_for_it);
  return code;
}

/// A stream whose text is shown_text().
struct ShownStream {
  ShownStream(std::ostream& to, bool color) : buffer(*to.rdbuf(), color), stream(&buffer) {}
  ShownBuffer buffer;
  std::ostream stream;
};

}  // namespace

int run_program(const std::vector<std::string>& typed, Console& console) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is then an error of its write
  ShownStream out(console.out, console.color), err(console.err, console.color);
  Console shown{out.stream, err.stream, console.color, console.unicode, console.columns, console.drawn};
  const int code = answer(typed, shown);
  if (out.buffer.finish() && out.stream.flush()) return code;
  return code == 0 ? failed(shown, unwritable, room_for_it) : code;
}

}  // namespace stepcast::studies
