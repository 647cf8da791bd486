// The table of commands: what each is called, takes and shows in its help, and the function that runs it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast {

struct Command {
  std::string_view name;
  std::string_view usage;       ///< what follows "stepcast NAME"
  std::string_view summary;     ///< one line, for the list of commands
  std::string_view about;       ///< the help's first paragraph
  std::size_t least_words = 0, most_words = 0;
  std::span<const Flag> flags;
  std::vector<std::string_view> examples;  ///< each runs as it stands
  /// An Error is the user's to mend (exit 2); an exception is ours (exit 1).
  Expected<void> (*run)(const Arguments& arguments, Console& console) = nullptr;
};

std::span<const Command> commands();

/// The whole program: parse, run, exit code 0 done, 1 the run failed, 2 bad usage or input.
int run_program(const std::vector<std::string>& arguments, Console& console);

// The commands, one file each.
Expected<void> predict_command(const Arguments& arguments, Console& console);
Expected<void> roofline_command(const Arguments& arguments, Console& console);
Expected<void> timeline_command(const Arguments& arguments, Console& console);
Expected<void> report_command(const Arguments& arguments, Console& console);
Expected<void> whatif_command(const Arguments& arguments, Console& console);
Expected<void> scale_command(const Arguments& arguments, Console& console);
Expected<void> sweep_command(const Arguments& arguments, Console& console);
Expected<void> merge_command(const Arguments& arguments, Console& console);
Expected<void> dataflow_command(const Arguments& arguments, Console& console);
Expected<void> schedule_command(const Arguments& arguments, Console& console);
Expected<void> explain_command(const Arguments& arguments, Console& console);
Expected<void> explain_term(const Arguments& arguments, Console& console);   ///< without a launch
Expected<void> validate_command(const Arguments& arguments, Console& console);
Expected<void> calibrate_command(const Arguments& arguments, Console& console);
Expected<void> collective_command(const Arguments& arguments, Console& console);
Expected<void> kernel_command(const Arguments& arguments, Console& console);
Expected<void> list_command(const Arguments& arguments, Console& console);
Expected<void> show_command(const Arguments& arguments, Console& console);

}  // namespace stepcast
