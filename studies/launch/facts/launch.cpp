#include "studies/launch/facts/launch.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::launch {

const GivenArgument* Launch::find(std::string_view name) const {
  const auto found = std::find_if(
      arguments.rbegin(), arguments.rend(), [&](const GivenArgument& given) { return given.name == name; });
  return found == arguments.rend() ? nullptr : &*found;
}

std::string place_of(const Launch& launch, const GivenArgument& given) {
  const std::string& file = given.file.empty() ? launch.where : given.file;
  const std::string place = given.line > 0 ? fmt::format("{}:{}", file, given.line) : file;
  return fmt::format("{} {}", place, given.spelled.empty() ? given.name : given.spelled);
}

bool names_argument(std::string_view name, std::string_view part) {
  return name == part ||
         (name.size() > part.size() && name.ends_with(part) && name[name.size() - part.size() - 1] == '.');
}

Launch without(Launch launch, std::string_view name) {
  std::erase_if(launch.arguments, [&](const GivenArgument& given) { return given.name == name; });
  return launch;
}

}  // namespace stepcast::launch
