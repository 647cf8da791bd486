#include "studies/records/name_pattern.h"

namespace stepcast::records {

/// Greedy with one step back: the last `*` seen takes one letter more whenever what follows it fails.
bool fits_pattern(std::string_view name, std::string_view pattern) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, in_pattern = 0, star = none, taken = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++in_pattern;
      ++at;
    } else if (star != none) {
      in_pattern = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

}  // namespace stepcast::records
