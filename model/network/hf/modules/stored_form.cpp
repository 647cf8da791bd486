#include "model/network/hf/modules/stored_form.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace stepcast::detail {
namespace {

/// What stands in a row is so. Weights of a type that products do not multiply in have no row but where --weights
/// multiplies them in bf16, and integers that multiply integers have none.
enum class Inputs : std::uint8_t { any, narrow, wide };
enum class Layers : std::uint8_t { any, experts_alone };  ///< the latter leave attention wide
constexpr std::int64_t any = 0;
struct StoredForm {
  std::string_view methods, type;
  std::string_view kind = "";  ///< "": any
  std::int64_t bits = any, group = any;
  bool blocks = false;
  Inputs inputs = Inputs::any;
  Layers layers = Layers::any;
  std::int64_t run = 0;              ///< that the form has by its name
  std::string_view experts_in = {};  ///< "": as all
};
constexpr StoredForm forms[] = {
    {"fp8", "fp8-block", "", any, any, true},
    {"fp8", "fp8-mxfp4-experts", "", any, any, true, Inputs::any, Layers::any, 0, "fp4"},
    {"fp8_pb_wo", "fp8-block"},
    {"fp8_per_channel_per_token", "fp8"},
    {"fp8 fbgemm_fp8", "fp8"},
    {"mxfp4", "mxfp4"},
    {"awq gptq", "int4", "", 4},
    {"gptq", "int8", "", 8},
    {"nvfp4", "nvfp4"},
    {"auto-round", "int4", "int", 4},
    {"auto-round", "int8", "int", 8},
    {"quark", "fp8", "float", 8, any, false, Inputs::narrow},
    {"mxfp8", "mxfp8", "", any, any, false, Inputs::any, Layers::any, 32},
    {"compressed-tensors modelopt", "mxfp8", "float", 8, 32, false, Inputs::narrow},
    {"compressed-tensors", "fp8-block", "float", 8, any, true, Inputs::narrow},
    {"compressed-tensors modelopt", "fp8", "float", 8, any, false, Inputs::narrow},
    {"compressed-tensors modelopt", "nvfp4", "float", 4, 16, false, Inputs::narrow},
    {"compressed-tensors", "mxfp4", "float", 4, 32, false, Inputs::wide, Layers::experts_alone},
    {"compressed-tensors", "int4-experts", "int", 4, 32, false, Inputs::wide, Layers::experts_alone},
    {"compressed-tensors", "int4", "int", 4, any, false, Inputs::wide},
    {"compressed-tensors", "int8", "int", 8, any, false, Inputs::wide},
};

bool is_word_of(std::string_view words, std::string_view word) {
  return (' ' + std::string(words) + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

bool says(const StoredForm& form, const Said& said) {
  return is_word_of(form.methods, said.method) && (form.kind.empty() || form.kind == said.kind) &&
         (form.bits == any || form.bits == said.bits) && (form.group == any || form.group == said.group) &&
         form.blocks == said.blocks && form.experts_in == said.experts_in && (said.run == 0 || form.run == said.run) &&
         (form.inputs == Inputs::any || (form.inputs == Inputs::narrow) == said.narrow_inputs) &&
         (form.layers == Layers::any || (said.experts && said.wide.attention == LeftWide::all));
}

}  // namespace

bool of_experts(std::string_view type) { return type == "mxfp4" || type == "int4-experts"; }

std::string_view stored_type(const Said& said) {
  const auto form = std::ranges::find_if(forms, [&](const StoredForm& row) { return says(row, said); });
  return form == std::end(forms) ? std::string_view() : form->type;
}

/// Of integers: a scale of two bytes for each group, and a zero point of as many bits as a number (compressed-tensors
/// compressors/quantized_compressors/pack_quantized.py; AutoAWQ awq/modules/linear/gemm.py). 0: of none.
double integer_bytes(const Said& said, std::string_view type) {
  if (!type.starts_with("int") || said.bits == 0) return 0;
  constexpr double bits_of_byte = 8, scale_bytes = 2;
  const double bytes = static_cast<double>(said.bits) / bits_of_byte;
  const std::int64_t group = said.group > 0 ? said.group : said.scaled;
  return group > 0 ? bytes + (scale_bytes + (said.zeros ? bytes : 0)) / static_cast<double>(group) : bytes;
}

std::string in_words(const Said& said) {
  std::string words = said.method.empty() ? "a method that it does not name" : fmt::format("{:.40}", said.method);
  if (said.bits > 0) words += fmt::format(", {}{} bits", said.kind.empty() ? "" : said.kind + " of ", said.bits);
  if (said.group > 0) words += fmt::format(" in groups of {}", said.group);
  if (said.blocks) words += " in blocks";
  if (said.run > 0) words += fmt::format(" in runs of {}", said.run);
  if (!said.experts_in.empty()) words += fmt::format(", experts in {:.40}", said.experts_in);
  if (said.sparse) words += ", two of four left out";
  return said.several ? words + ", layers that differ" : words;
}

}  // namespace stepcast::detail
