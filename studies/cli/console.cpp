#include "studies/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace stepcast::cli {

bool wants_color(bool is_terminal, const char* no_color, const char* term) {
  if (!is_terminal) return false;
  if (no_color != nullptr && *no_color != '\0') return false;
  return term != nullptr && std::string_view(term) != "dumb";
}

bool wants_unicode(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* name : {lc_all, lc_ctype, lang}) {
    if (name == nullptr || *name == '\0') continue;
    const std::string_view locale = name;
    for (std::string_view charset : {"UTF-8", "utf-8", "UTF8", "utf8"})
      if (locale.find(charset) != std::string_view::npos) return true;
    return false;
  }
  return true;
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<int>(size.ws_col, 40, 400);
}

Console standard_console() {
  return {std::cout, std::cerr, wants_color(isatty(STDOUT_FILENO) == 1, std::getenv("NO_COLOR"), std::getenv("TERM")),
      wants_unicode(std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG")), terminal_columns(),
      isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr};
}

}  // namespace stepcast::cli
