// Writes words of a printed command for a shell.
#pragma once

#include <string>
#include <string_view>

namespace stepcast::cli {

/// A word as a POSIX shell reads it back: in single quotes where it has to be.
std::string shell_word(std::string_view word);

}  // namespace stepcast::cli
