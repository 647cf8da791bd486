#include "studies/launch/facts/torchtitan_models.h"

#include <algorithm>
#include <string>

#include "model/base/text.h"

namespace stepcast::launch {
namespace {

// In 0.2.2 qwen3 and gpt_oss have no pipelining function. The DeepSeek flavors and gpt_oss run flex attention, which
// 0.2.2 does not split over context-parallel ranks. Llama 2 left with pull request 712, Llama 4 in June 2026.
constexpr TorchtitanModel titan_models[] = {
    {"llama3-8b", "llama3", "8B", "", ""},
    {"llama3-8b", "llama3", "8B_flex", "2025-12", "2026-03"},
    {"llama3-8b", "llama3", "8B_varlen", "2025-12", "2026-03"},
    {"llama3-70b", "llama3", "70B", "", ""},
    {"llama3-405b", "llama3", "405B", "2024-09", ""},
    {"llama3.2-1b", "llama3", "1B", "2026-05", ""},
    {"llama3.2-3b", "llama3", "3B", "2026-05", ""},
    {"llama2-7b", "llama2", "7B", "", "2025-01"},
    {"llama2-13b", "llama2", "13B", "", "2025-01"},
    {"llama2-70b", "llama2", "70B", "", "2025-01"},
    {"llama4-scout", "llama4", "17bx16e", "2025-05", "2026-07"},
    {"llama4-scout", "llama4", "17bx16e_irope", "2025-05", "2026-07", true, false},
    {"llama4-maverick", "llama4", "17bx128e", "2025-05", "2026-07"},
    {"llama4-maverick", "llama4", "17bx128e_irope", "2025-05", "2026-07", true, false},
    {"deepseek-v2-lite", "deepseek_v3", "16B", "2025-08", "", true, false},
    {"deepseek-v2", "deepseek_v3", "236B", "2025-08", "", true, false},
    {"deepseek-v3", "deepseek_v3", "671B", "2025-08", "", true, false},
    {"qwen3-0.6b", "qwen3", "0.6B", "2025-09", "", false, true},
    {"qwen3-1.7b", "qwen3", "1.7B", "2025-09", "", false, true},
    {"qwen3-4b", "qwen3", "4B", "2025-09", "", false, true},
    {"qwen3-8b", "qwen3", "8B", "2025-09", "", false, true},
    {"qwen3-14b", "qwen3", "14B", "2025-09", "", false, true},
    {"qwen3-32b", "qwen3", "32B", "2025-09", "", false, true},
    {"qwen3-30b-a3b", "qwen3", "30B-A3B", "2025-10", "", false, true},
    {"qwen3-235b-a22b", "qwen3", "235B-A22B", "2025-10", "", false, true},
    {"qwen3.5-27b", "qwen3_5", "27B", "2026-07", ""},
    {"qwen3.5-35b-a3b", "qwen3_5", "35B-A3B", "2026-07", ""},
    {"qwen3.5-397b-a17b", "qwen3_5", "397B-A17B", "2026-07", ""},
    {"gpt-oss-20b", "gpt_oss", "20b", "2025-11", "", false, false},
    {"gpt-oss-120b", "gpt_oss", "120b", "2025-11", "", false, false},
};

}  // namespace

std::span<const TorchtitanModel> torchtitan_models() { return titan_models; }

const TorchtitanModel* torchtitan_model(std::string_view network) {
  const auto found = std::find_if(std::begin(titan_models), std::end(titan_models),
      [&](const TorchtitanModel& row) { return row.network == network; });
  return found == std::end(titan_models) ? nullptr : found;
}

const TorchtitanModel* torchtitan_model(std::string_view name, std::string_view flavor) {
  const std::string plain_name = lower_case(name), plain_flavor = lower_case(flavor);
  const auto found = std::find_if(std::begin(titan_models), std::end(titan_models), [&](const TorchtitanModel& row) {
    return lower_case(row.name) == plain_name && lower_case(row.flavor) == plain_flavor;
  });
  return found == std::end(titan_models) ? nullptr : found;
}

std::vector<std::int64_t> torchtitan_part_layers(std::string_view text) {
  constexpr std::string_view layer = "layers.";
  std::vector<std::int64_t> parts;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && ++depth == 2) parts.push_back(0);
    if (text[i] == ']') --depth;
    if (depth == 2 && text.substr(i).starts_with(layer)) ++parts.back();
  }
  return parts;
}

}  // namespace stepcast::launch
