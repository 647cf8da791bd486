#include "studies/cli/progress_line.h"

#include <unistd.h>

#include <iostream>

namespace stepcast::cli {

Progress::Progress(Console& console)
    : console_(console), on_(&console.err == &std::cerr && isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() {
  if (on_) console_.err << "\r\x1b[K" << std::flush;
}
void Progress::show(const std::string& text) {
  if (on_) console_.err << "\r\x1b[K" << text << std::flush;
}

}  // namespace stepcast::cli
