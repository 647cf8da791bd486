// Shows on a terminal how far a command is.
#pragma once

#include <ostream>
#include <string>

#include "studies/cli/console.h"

namespace stepcast::cli {

/// One line on stderr that the next one replaces; nothing where stderr is no terminal.
class Progress {
 public:
  explicit Progress(Console& console);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& text);

 private:
  std::ostream* terminal_;
};

}  // namespace stepcast::cli
