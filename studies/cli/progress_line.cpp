#include "studies/cli/progress_line.h"

#include <ostream>

#include "studies/cli/shown_text.h"

namespace stepcast::cli {

Progress::Progress(Console& console) : terminal_(console.drawn) {}
Progress::~Progress() {
  if (terminal_ != nullptr) *terminal_ << "\r\x1b[K" << std::flush;
}
void Progress::show(const std::string& text) {
  if (terminal_ != nullptr) *terminal_ << "\r\x1b[K" << shown_text(text) << std::flush;
}

}  // namespace stepcast::cli
