// The table of commands: what each is called, takes and shows in its help, and the function that runs it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/cli/command.h"

namespace stepcast::studies {

std::span<const Command> commands();

/// The whole program: parse, run, exit code 0 done, 1 the run failed, 2 bad usage or input.
int run_program(const std::vector<std::string>& arguments, Console& console);

}  // namespace stepcast::studies
