#include "studies/launch/dialects/megatron_case.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast::launch {
namespace {

constexpr std::string_view case_arguments = "MODEL_ARGS.", case_variables = "ENV_VARS.";

}  // namespace

bool is_megatron_case(const Launch& launch) {
  return std::ranges::any_of(launch.arguments, [](const GivenArgument& given) {
    return given.spelled.starts_with(case_arguments) && given.spelled.substr(case_arguments.size()).starts_with("--");
  });
}

void open_megatron_case(Launch& launch) {
  std::vector<GivenArgument> inside;
  for (GivenArgument& given : launch.arguments) {
    const std::string_view spelled = given.spelled;
    if (spelled.starts_with(case_variables))
      launch.environment[std::string(spelled.substr(case_variables.size()))] = given.value;
    if (!spelled.starts_with(case_arguments)) continue;
    given.spelled.erase(0, case_arguments.size());
    given.name = given.spelled.substr(std::min(given.spelled.find_first_not_of('-'), given.spelled.size()));
    std::replace(given.name.begin(), given.name.end(), '-', '_');
    // a list is several words behind the name
    if (given.value.starts_with('[') && given.value.ends_with(']') && given.name == "spec")
      std::erase_if(given.value, [](char c) { return c == '[' || c == ']' || c == ','; });
    inside.push_back(std::move(given));
  }
  launch.arguments = std::move(inside);
  launch.unfollowed.emplace_back(
      "a case of Megatron-LM's tests, whose program (pretrain_gpt.py, pretrain_bert.py, ...) "
      "stands elsewhere; --lenient for that of a decoder");
}

}  // namespace stepcast::launch
