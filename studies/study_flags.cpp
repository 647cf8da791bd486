#include "studies/study_flags.h"

#include <algorithm>

namespace stepcast {

std::vector<Flag> study_flags(std::initializer_list<Flag> own) {
  std::vector<Flag> flags;
  const auto own_row = [&](std::string_view name) {
    return std::find_if(own.begin(), own.end(), [&](const Flag& flag) { return flag.name == name; });
  };
  for (const Flag& flag : run_flags()) {
    const auto* instead = own_row(flag.name);
    if (instead != own.end() && instead->group == flag.group) {
      flags.push_back(*instead);
    } else if (flag.group != "Output" && instead == own.end()) {
      flags.push_back(flag);
    }
  }
  for (const Flag& flag : own)
    if (find_flag(flags, flag.name) == nullptr) flags.push_back(flag);
  return flags;
}

}  // namespace stepcast
