#include "studies/launch/limits/open_conditions.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/facts/argument_facts.h"

namespace stepcast::launch {
namespace {

bool names_configuration(std::string_view value) {
  constexpr std::string_view endings[] = {".json", ".yaml", ".yml", ".toml"};
  return std::any_of(
      std::begin(endings), std::end(endings), [&](std::string_view ending) { return value.ends_with(ending); });
}

/// What a forecast asks of a launch, as its command says it: the last of a name counts.
std::map<std::string, std::string> told_by(const LaunchLine& line, const Framework& framework) {
  std::map<std::string, std::string> told;
  for (const GivenArgument& given : line.given) {
    const ArgumentFact* fact = framework.table().find(given.name);
    const bool tells = fact != nullptr && (fact->asks || !fact->refused.empty());
    if (tells || names_configuration(given.value)) told[given.spelled] = given.value;
  }
  for (const GivenArgument& word : line.positional)
    if (names_configuration(word.value)) told["the configuration"] = word.value;
  if (line.gpus() > 0) told["the number of GPUs"] = fmt::format("{}", line.gpus());
  return told;
}

/// Names of what one of both says and the other does not, or says otherwise.
std::vector<std::string> differences(
    const std::map<std::string, std::string>& one, const std::map<std::string, std::string>& other) {
  std::vector<std::string> names;
  for (const auto& [name, value] : one)
    if (const auto same = other.find(name); same == other.end() || same->second != value) names.push_back(name);
  for (const auto& [name, value] : other)
    if (!one.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string> decided_by(
    const std::set<std::string>& empty, const LaunchLine& line, const Framework& framework, const LaunchAgain& again) {
  const auto other = again(empty);
  if (!other) return {};  // without the branch there is no launch
  return differences(told_by(line, framework), told_by(*other, framework));
}

}  // namespace

std::string open_conditions(const LaunchLine& line, const Framework& framework, const LaunchAgain& again) {
  constexpr std::size_t most_names = 64, most_shown = 8;
  if (line.open.empty() || !again) return {};
  std::set<std::string> all, asks, found;
  for (const auto& [name, at] : line.open) all.insert(name);
  if (all.size() <= most_names)
    for (const std::string& name : all)
      if (const auto names = decided_by({name}, line, framework, again); !names.empty())
        asks.insert(name), found.insert(names.begin(), names.end());
  if (asks.empty()) {  // only together, if at all
    const auto names = decided_by(all, line, framework, again);
    asks = all, found.insert(names.begin(), names.end());
  }
  if (found.empty()) return {};
  std::vector<std::string> asked, defines, decided(found.begin(), found.end());
  for (const std::string& name : asks) {
    asked.push_back(fmt::format("${} (line {})", name, line.open.at(name)));
    defines.push_back(fmt::format("--define {}=VALUE", name));
  }
  const std::size_t more = decided.size() - std::min(decided.size(), most_shown);
  decided.resize(decided.size() - more);
  return fmt::format(
      "conditions ask for {}, which nothing sets, and decide {}{}: {} (nothing behind = where it is empty)",
      fmt::join(asked, ", "), fmt::join(decided, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
      fmt::join(defines, " "));
}

}  // namespace stepcast::launch
