// The words of the commands in a shell script or in a log that shows them: quotes, continued lines, variables and
// arrays that the same text sets. Nothing is run: a value that only a running shell knows ($1, $(hostname)) stays as
// written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace stepcast {

/// Values by name; the elements of an array are joined by blanks, as `${ARRAY[@]}` gives them to a command.
using ShellVariables = std::map<std::string, std::string>;

struct ShellCommand {
  std::size_t line = 0;            ///< of the text, from 1
  std::vector<std::string> words;  ///< expanded; a `$` left in a word is a value that the text does not set
  ShellVariables environment;      ///< NAME=value before the command
};

/// The commands whose first word `wanted` accepts, in order, behind `then`, `exec`, `nohup`, "+ " (set -x) or "cmd = "
/// (DeepSpeed) as well. Other lines are passed over: logs hold anything. `#SBATCH --nodes=4` becomes a command of the
/// words "#SBATCH", "--nodes=4" and sets SLURM_NNODES.
/// Fails where a wanted command is cut off inside a quote.
Expected<std::vector<ShellCommand>> shell_commands(std::string_view text, const std::string& where,
                                                   bool (*wanted)(std::string_view first_word));

/// Whole-number arithmetic of $((...)): + - * / % and parentheses; "" where it is something else.
std::string shell_arithmetic(std::string_view expression);

}  // namespace stepcast
