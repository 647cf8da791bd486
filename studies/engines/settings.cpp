#include "studies/engines/settings.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/whole_number.h"

namespace stepcast::engines {

Expected<std::optional<std::int64_t>> largest_of(SaidArguments& said, const char* name) {
  const GivenArgument* given = said.find(name);
  if (given == nullptr || !given->unset.empty()) return std::nullopt;
  std::optional<std::int64_t> largest;
  std::string digits;
  for (const char c : given->value + " ") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
      continue;
    }
    const bool between = std::string_view(" ,[]\t\"'").find(c) != std::string_view::npos;
    if (!between || digits.size() > 9)
      return fail(place_of_argument(said, *given), fmt::format("'{:.60}' is no list of batches", given->value),
          "whole numbers: 1 2 4 8");
    if (!digits.empty()) largest = std::max<std::int64_t>(largest.value_or(0), std::stoll(digits));
    digits.clear();
  }
  return largest;
}

Expected<std::int64_t> size_of(SaidArguments& said, const char* name) {
  TRY(const auto size, said.count(name));
  if (!size) return 1;
  if (*size < 1)
    return fail(place_of_argument(said, *said.find(name)), fmt::format("a size of {}", *size), "at least 1");
  return *size;
}

Expected<EngineSettings> engine_settings(SaidArguments& said) {
  if (said.program->engine == "sglang") return sglang_settings(said);
  return said.program->engine == "vllm" ? vllm_settings(said) : trtllm_settings(said);
}

}  // namespace stepcast::engines
