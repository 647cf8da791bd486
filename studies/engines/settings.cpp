#include "studies/engines/settings.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::engines {

Expected<std::vector<std::int64_t>> whole_numbers_of(SaidArguments& said, const char* name) {
  const GivenArgument* given = said.find(name);
  std::vector<std::int64_t> all;
  if (given == nullptr || !given->unset.empty()) return all;
  if (const std::string word = lower_case(given->value); word == "null" || word == "none") return all;
  std::string digits;
  for (const char c : given->value + " ") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
      continue;
    }
    const bool between = std::string_view(" ,[]\t\"'").find(c) != std::string_view::npos;
    if (!between || digits.size() > 9)
      return fail(place_of_argument(said, *given), fmt::format("'{:.60}' is no list of sizes", given->value),
          "whole numbers: 1 2 4 8");
    if (!digits.empty()) all.push_back(std::stoll(digits));
    digits.clear();
  }
  return all;
}

Expected<std::optional<std::int64_t>> largest_of(SaidArguments& said, const char* name) {
  TRY(const auto all, whole_numbers_of(said, name));
  if (all.empty()) return std::nullopt;
  return std::ranges::max(all);
}

Expected<std::int64_t> size_of(SaidArguments& said, const char* name) {
  TRY(const auto size, said.count(name));
  if (!size) return 1;
  if (*size < 1)
    return fail(place_of_argument(said, *said.find(name)), fmt::format("a size of {}", *size), "at least 1");
  return *size;
}

namespace {

/// Where each engine says the same, and what it has of its own.
struct SettingsNames {
  std::string_view engine;
  const char *model, *quantization, *cache;
  Expected<void> (*others)(SaidArguments& said, EngineSettings& out);
};
constexpr SettingsNames settings_names[] = {{"vllm", "model", "quantization", "kv_cache_dtype", vllm_settings},
    {"sglang", "model_path", "quantization", "kv_cache_dtype", sglang_settings},
    {"", "model", "quant_config.quant_algo", "kv_cache_config.dtype", trtllm_settings}};

}  // namespace

Expected<EngineSettings> engine_settings(SaidArguments& said) {
  const SettingsNames& names = *std::ranges::find_if(settings_names,
      [&](const SettingsNames& row) { return row.engine.empty() || row.engine == said.program->engine; });
  EngineSettings out;
  const GivenArgument* model = said.find(names.model);
  out.model_open = model != nullptr && !model->unset.empty();
  out.model = said.text(names.model).value_or("");
  out.dtype = said.text("dtype").value_or("");
  out.quantization = said.text(names.quantization).value_or("");
  out.cache = said.text(names.cache).value_or("");
  TRY(names.others(said, out));
  return out;
}

}  // namespace stepcast::engines
