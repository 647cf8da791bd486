// Which products torchtitan's converters take to 8 bits: those of linear layers and the grouped ones of experts have
// converters of their own (pytorch/torchtitan v0.2.2 torchtitan/components/quantization/float8.py and mx.py:
// Float8LinearConverter swaps nn.Linear, Float8GroupedMMConverter the experts' parameters of three dims, in the modules
// that its fqns name). In summer 2025 one converter did both (torchtitan/components/quantization/float8.py at
// 6fc499f6).
#include <algorithm>
#include <string>

#include "model/base/text.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

bool holds(const std::string& words, std::string_view part) { return words.find(part) != words.npos; }

/// Is a list given that names anything?
bool names_modules(const LaunchSubject& subject, std::string_view name) {
  const GivenArgument* given = subject.launch.find(name);
  return given != nullptr && given->value.find_first_not_of("[]'\" ,") != std::string::npos;
}

/// Of experts, in any of the ways that releases had.
bool converts_experts(const LaunchSubject& subject, const std::string& converters) {
  constexpr std::string_view one_for_both[] = {
      "float8.moe_fqns", "float8.moe_fqns_prototype", "mx.moe_fqns", "mx.moe_fqns_prototype"};
  if (std::ranges::any_of(one_for_both, [&](std::string_view name) { return names_modules(subject, name); }))
    return true;
  if (holds(converters, "groupedexpertsconverter") || holds(converters, "groupedmmconverter")) return true;
  for (const std::string kind : {"float8", "mx"})
    if (holds(converters, "quantize.grouped_mm." + kind) &&
        names_modules(subject, "quantize.grouped_mm." + kind + ".fqns"))
      return true;
  return false;
}

bool converts_linear(const std::string& converters) {
  return holds(converters, "linear") || (!holds(converters, "grouped") && !converters.empty());
}

}  // namespace

Expected<void> check_converters_of_experts(const LaunchSubject& subject) {
  // Primus' grouped products have switches of their own, which its dialect looks at.
  if (subject.framework.id != "torchtitan" || subject.has_section("primus_turbo.")) return {};
  const std::string converters = lower_case(subject.answers.text(Asked::converters).value_or(""));
  const bool narrow = holds(converters, "float8") || holds(converters, "mx") || holds(converters, "fp4");
  if (!narrow || subject.out.network.experts.count == 0) return {};
  const bool linear = converts_linear(converters), experts = converts_experts(subject, converters);
  if (linear && experts) return {};
  return fail(subject.answers.where(Asked::converters),
      linear ? "linear layers alone are converted, and the grouped products of experts stay in 16 bits: that is not "
               "forecast"
             : "products of experts alone are converted: that is not forecast",
      linear
          ? "the converter of grouped products, too (quantize.grouped_mm.float8, with its fqns [\"experts\"]), or none"
          : "the converter of linear layers, too (quantize.linear.float8), or none");
}

}  // namespace stepcast::launch
