#include "studies/cli/shell_word.h"

#include <algorithm>
#include <cctype>

namespace stepcast::cli {

std::string shell_word(std::string_view word) {
  constexpr std::string_view harmless = "_./:=,+-@%";
  const auto plain = [&](unsigned char c) {
    return std::isalnum(c) != 0 || harmless.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace stepcast::cli
