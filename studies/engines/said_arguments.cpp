#include "studies/engines/said_arguments.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::engines {

std::string place_of_argument(const SaidArguments& said, const GivenArgument& given) {
  const std::string& file = given.file.empty() ? said.where : given.file;
  const std::string name = given.spelled.empty() ? given.name : given.spelled;
  return given.line > 0 ? fmt::format("{}:{} {:.60}", file, given.line, name) : fmt::format("{:.60}", name);
}

bool SaidArguments::counts(const GivenArgument& given) const {
  const std::string_view name = counted_name(table(), given.name);
  const auto last = std::find_if(
      all.rbegin(), all.rend(), [&](const GivenArgument& other) { return counted_name(table(), other.name) == name; });
  return last != all.rend() && &*last == &given;
}

const GivenArgument* SaidArguments::find(std::string_view name) {
  asked_.emplace(name);
  for (auto given = all.rbegin(); given != all.rend(); ++given)
    if (counted_name(table(), given->name) == name) return &*given;
  return nullptr;
}

Expected<std::optional<std::int64_t>> SaidArguments::count(std::string_view name) {
  const GivenArgument* given = find(name);
  if (given == nullptr || !given->unset.empty()) return std::nullopt;
  std::string_view digits = stripped(given->value);
  // vllm/engine/arg_utils.py, human_readable_int: k, m, g count by 1000, K, M, G by 1024.
  constexpr std::string_view letters = "kmgKMG";
  double factor = 1;
  if (const std::size_t letter = digits.empty() ? letters.npos : letters.find(digits.back()); letter != letters.npos) {
    factor = std::pow(letter < 3 ? 1000.0 : 1024.0, static_cast<double>(letter % 3 + 1));
    digits.remove_suffix(1);
  }
  const auto value = parsed_number<double>(digits);
  if (!value || std::floor(*value * factor) != *value * factor || std::abs(*value) > 1e12)
    return fail(place_of_argument(*this, *given), fmt::format("'{:.40}' is no whole number", given->value), "a count");
  return static_cast<std::int64_t>(*value * factor);
}

Expected<std::optional<double>> SaidArguments::number(std::string_view name) {
  const GivenArgument* given = find(name);
  if (given == nullptr || !given->unset.empty()) return std::nullopt;
  const auto value = parsed_number<double>(stripped(given->value));
  if (!value || !std::isfinite(*value))
    return fail(place_of_argument(*this, *given), fmt::format("'{:.40}' is no number", given->value), "a number");
  return *value;
}

Expected<std::optional<bool>> SaidArguments::flag(std::string_view name) {
  const GivenArgument* given = find(name);
  if (given == nullptr || !given->unset.empty()) return std::nullopt;
  const std::string value = lower_case(stripped(given->value));
  if (value == "true" || value == "1" || value == "yes") return true;
  if (value == "false" || value == "0" || value == "no" || value == "null" || value == "none") return false;
  return fail(place_of_argument(*this, *given), fmt::format("'{:.40}' is neither true nor false", given->value),
      "true or false");
}

std::optional<std::string> SaidArguments::text(std::string_view name) {
  const GivenArgument* given = find(name);
  if (given == nullptr || !given->unset.empty()) return std::nullopt;
  return std::string(stripped(given->value));
}

}  // namespace stepcast::engines
