#include "studies/launch/facts/launch.h"

#include <algorithm>

namespace stepcast::launch {

const GivenArgument* Launch::find(std::string_view name) const {
  const auto found = std::find_if(
      arguments.rbegin(), arguments.rend(), [&](const GivenArgument& given) { return given.name == name; });
  return found == arguments.rend() ? nullptr : &*found;
}

Launch without(Launch launch, std::string_view name) {
  std::erase_if(launch.arguments, [&](const GivenArgument& given) { return given.name == name; });
  return launch;
}

}  // namespace stepcast::launch
