// Help texts, made from the command and flag records so that they cannot drift from what is parsed.
#pragma once

#include <span>
#include <string>

#include "studies/cli/command.h"

namespace stepcast::studies {

/// `stepcast --help`: what the program is for and its commands.
std::string program_help(std::span<const Command> commands);

/// `stepcast COMMAND --help`: usage, flags by group, examples that run.
std::string command_help(const Command& command);

/// An input error on stderr: where and what on the first line, the hint on its own.
std::string error_text(const Error& error);

/// `stepcast --version`.
std::string version_text();

}  // namespace stepcast::studies
