// GPT-NeoX: megatron/model/transformer.py, megatron/neox_arguments/arguments.py
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/launch_release.h"

namespace stepcast::launch {
namespace {

/// The first word of "[[[flash], 32]]" that is neither a count nor full attention; "" where there is none.
std::string other_attention(std::string_view text) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty() && word != "flash" && word != "global") return word;
    word.clear();
  }
  return {};
}

/// "1000 or 1002" of 1001 and 2.
std::string multiples_near(std::int64_t size, std::int64_t of) {
  const std::int64_t below = size / of * of, above = below + of;
  return below > 0 ? fmt::format("{} or {}", below, above) : std::to_string(above);
}

/// megatron/neox_arguments/arguments.py: "fp16": {"type": "bfloat16"} is bfloat16 up to v2.0 (lines 763 of v1.0 and 850
/// of v2.0); since 056e9caf of May 2023 (#787) that says nothing, and `enabled` means fp16.
Expected<void> settle_type(DialectWords& words) {
  const GivenArgument* type = words.last("fp16.type");
  if (type == nullptr || lower_case(type->value) != "bfloat16") return {};
  const bool told =
      words.has_any({"precision", "bf16.enabled", "bf16"}) || words.launch.told.contains(FieldId::precision);
  if (told) return {};
  const auto releases = words.launch.framework->table().releases();
  const std::string release = words.launch.release.empty() ? release_in_force(words.launch) : words.launch.release;
  const bool newest = release.empty() || release == releases.back().id;
  if (newest && words.launch.release.empty())
    return fail(place_of(words.launch, *type),
        "bfloat16 up to GPT-NeoX 2.0; since May 2023 it says nothing, and fp16.enabled means fp16",
        fmt::format("--release {} or --release {}", releases[releases.size() - 2].id, releases.back().id));
  if (!newest) {
    words.put("precision", "bfloat16", "fp16.type");
    words.put("fp16.enabled", "false", "fp16.type");
    words.note(fmt::format("fp16.type bfloat16: products in bfloat16, as GPT-NeoX {} has it", release));
  }
  return {};
}

/// megatron/model/transformer.py, LLaMAParallelMLP, of May 2023 (#841) to September 2024 (adbf5d6f): gated by SiLU,
/// without biases, 8/3 h wide up to a multiple of 256.
Expected<bool> settle_llama_mlp(DialectWords& words) {
  const GivenArgument* kind = words.last("mlp_type");
  if (kind == nullptr || lower_case(kind->value) == "regular") return false;
  if (lower_case(kind->value) != "llama") return tl::unexpected(words.limit(*kind, "an MLP that is not known"));
  TRY(const std::int64_t hidden, words.count("hidden_size"));
  TRY(const std::int64_t told, words.count("intermediate_size"));
  constexpr std::int64_t multiple = 256;
  const std::int64_t width = told > 0 ? told : (8 * hidden / 3 + multiple - 1) / multiple * multiple;
  words.put("activation", "swiglu", "mlp_type");
  words.put("intermediate_size", std::to_string(width), "mlp_type");
  words.put("use_bias_in_mlp", "false", "mlp_type");
  words.note(
      fmt::format("MLP of Llama's kind, {} wide and without biases, as GPT-NeoX had it until September 2024", width));
  return true;
}

/// A gated MLP takes two thirds of the width that is told, or of 4 h, and each half of it is rounded up.
Expected<void> width_of_mlp(DialectWords& words) {
  constexpr std::string_view gated[] = {"geglu", "reglu", "swiglu", "bilinear", "glu"};
  const std::string activation = lower_case(words.value("activation"));
  const bool gate = std::find(std::begin(gated), std::end(gated), activation) != std::end(gated);
  TRY(const std::int64_t hidden, words.count("hidden_size"));
  TRY(const std::int64_t cut, words.count("mlp_multiple_of", 1));
  TRY(std::int64_t told, words.count("intermediate_size"));
  const std::int64_t multiple = std::max<std::int64_t>(1, cut);
  if (words.has("expansion_factor") && told == 0) {
    TRY(const double times, words.number("expansion_factor", 4));
    told = static_cast<std::int64_t>(times * static_cast<double>(hidden));
  }
  if (told == 0) told = 4 * hidden;
  const auto rounded = [](std::int64_t of, std::int64_t to) { return (of + to - 1) / to * to; };
  const std::int64_t all = gate ? told * 2 / 3 : told, width = rounded(gate ? all / 2 : all, multiple);
  // what goes in is cut in two, and both halves are as wide as what comes out takes
  if (const std::int64_t half = rounded(all, 2 * multiple) / (gate ? 2 : 1); half != width)
    return fail(words.launch.where,
        fmt::format("GPT-NeoX builds an MLP of {} columns and {} rows of this, and stops", half, width),
        gate ? fmt::format("intermediate_size {}, for a gated MLP of width {}", 3 * told, told)
             : "intermediate_size " + multiples_near(all, 2 * multiple));
  if (width == 0 || (width == told && words.has("intermediate_size"))) return {};
  if (width == 4 * hidden && !gate) return {};
  words.put("intermediate_size", std::to_string(width), gate ? "activation" : "expansion_factor");
  if (gate)
    words.note(fmt::format("MLP width {}: GPT-NeoX gives each half of a gated MLP a third of {}{}", width, told,
        multiple > 1 ? fmt::format(", rounded up to a multiple of {}", multiple) : ""));
  return {};
}

}  // namespace

Expected<void> settle_gpt_neox(DialectWords& words) {
  for (const GivenArgument& given : words.launch.arguments)
    if (given.name.starts_with("attention_config"))
      if (const std::string kind = other_attention(given.value); !kind.empty())
        return tl::unexpected(words.limit(given, fmt::format("attention '{:.30}' is not forecast", kind)));
  TRY(settle_type(words));
  TRY(const bool llama, settle_llama_mlp(words));
  if (!llama) TRY(width_of_mlp(words));
  const bool mlp = words.is_on("use_bias_in_mlp", true), attention = words.is_on("use_bias_in_attn_linear", true);
  if (mlp == attention) return {};
  words.put("use_bias_in_mlp", "false", "use_bias_in_attn_linear");
  words.note(fmt::format("biases of {} alone are not forecast: it has none", mlp ? "the MLP" : "attention"));
  return {};
}

}  // namespace stepcast::launch
