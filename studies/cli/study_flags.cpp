#include "studies/cli/study_flags.h"

#include <algorithm>

namespace stepcast {

std::vector<Flag> study_flags(std::initializer_list<Flag> own) {
  std::vector<Flag> flags;
  const auto own_row = [&](std::string_view name) {
    return std::find_if(own.begin(), own.end(), [&](const Flag& flag) { return flag.name == name; });
  };
  for (const Flag& flag : run_flags()) {
    const auto* instead = own_row(flag.name);
    if (flag.group == "Output") continue;
    flags.push_back(instead == own.end() ? flag : *instead);
  }
  for (const Flag& flag : own)
    if (find_flag(flags, flag.name) == nullptr) flags.push_back(flag);
  return flags;
}

}  // namespace stepcast
