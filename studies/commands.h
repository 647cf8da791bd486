// The table of commands: what each is called, takes and shows in its help, and the function that runs it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/cli/command.h"

namespace stepcast {

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
