// Where a script waits for a command that it has let run beside it.
#pragma once

#include <cstddef>
#include <string>

namespace stepcast::engines {

/// The line of the first `wait` that is over when the command which begins in `line` and runs beside the script is: of
/// all, or of its number (NAME=$!). 0: none is.
std::size_t waited_at(const std::string& text, std::size_t line);

/// Does the script wait for that command before it does anything else? Of a line where several run beside it: no.
bool waits_at_once(const std::string& text, std::size_t line);

}  // namespace stepcast::engines
