// Where a command writes, and what that place can show. Commands never ask the terminal themselves, so tests run them
// in process on string streams.
#pragma once

#include <ostream>

#include "model/base/namespaces.h"

namespace stepcast::cli {

struct Console {
  std::ostream& out;  ///< results only
  std::ostream& err;  ///< errors and progress
  bool color = false;
  bool unicode = true;            ///< bars of block characters; else '#'
  int columns = 100;              ///< of the terminal, for drawings
  std::ostream* drawn = nullptr;  ///< the terminal behind `err`, for a line that the next one replaces; null = none
};

/// Colour on a terminal only, never when NO_COLOR is set to anything (https://no-color.org) or TERM is "dumb".
bool wants_color(bool is_terminal, const char* no_color, const char* term);

/// The first of LC_ALL, LC_CTYPE and LANG that is set decides; nothing set counts as UTF-8, the default of today.
bool wants_unicode(const char* lc_all, const char* lc_ctype, const char* lang);

/// The terminal's width, from 40 to 400; 100 where there is none.
int terminal_columns();

/// The process's own stdout and stderr.
Console standard_console();

}  // namespace stepcast::cli
