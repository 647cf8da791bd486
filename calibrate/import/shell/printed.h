// What a command of text tools prints: $(echo $DEVICES | tr ',' '\n' | wc -l). Nothing is run: tools are rows of a
// table, and one that is not among them, or asks for files, prints what nobody knows.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "calibrate/import/shell/expand.h"

namespace stepcast::calibrate {

struct ShellPrinted {
  std::optional<std::string> text = {};  ///< without the line ends at its end; nothing: not known
  std::string unset = {};                ///< the variable that it hangs on, where it is one that nothing sets
  std::set<std::string> doubts = {};     ///< how values in it came about, where that is not sure
};
/// `depth`: of values in values.
ShellPrinted shell_printed(std::string_view command, ShellVariables& variables, int depth);

}  // namespace stepcast::calibrate
