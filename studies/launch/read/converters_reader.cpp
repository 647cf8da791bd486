// Which products torchtitan's converters take to 8 bits: those of linear layers and the grouped ones of experts have
// converters of their own (pytorch/torchtitan v0.2.2 torchtitan/components/quantization/float8.py and mx.py:
// Float8LinearConverter swaps nn.Linear, Float8GroupedMMConverter the experts' parameters of three dims, in the modules
// that its fqns name). In summer 2025 one converter did both (torchtitan/components/quantization/float8.py at
// 6fc499f6).
#include <string>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

bool holds(const std::string& words, std::string_view part) { return words.find(part) != words.npos; }

/// Is a list given that names experts?
bool names_experts(const LaunchSubject& subject, const std::string& name) {
  const GivenArgument* given = subject.launch.find(name);
  return given != nullptr && holds(lower_case(given->value), "experts");
}

/// Of experts, to the type of the linear layers, in any of the ways that releases had.
bool converts_experts(const LaunchSubject& subject, const std::string& converters) {
  if (holds(converters, "groupedexpertsconverter") || holds(converters, "groupedmmconverter")) return true;
  for (const std::string kind : {"float8", "mx"}) {
    const std::string own = "quantize.linear." + kind;
    const bool other = holds(converters, "quantize.linear.") && !holds(converters, own);
    if (!holds(converters, kind) || other) continue;
    const bool grouped = holds(converters, "quantize.grouped_mm." + kind);
    if (grouped && names_experts(subject, "quantize.grouped_mm." + kind + ".fqns")) return true;
    if (names_experts(subject, kind + ".moe_fqns") || names_experts(subject, kind + ".moe_fqns_prototype")) return true;
  }
  return false;
}

/// Primus' grouped products have switches of their own, which its dialect looks at.
bool has_primus_products(const LaunchSubject& subject) {
  const GivenArgument* on = subject.launch.find("primus_turbo.enable_primus_turbo");
  return subject.has_section("primus_turbo.") && (on == nullptr || lower_case(on->value) != "false");
}

bool converts_linear(const std::string& converters) {
  return holds(converters, "linear") || (!holds(converters, "grouped") && !converters.empty());
}

}  // namespace

Expected<void> check_converters_of_experts(const LaunchSubject& subject) {
  if (subject.framework.id != "torchtitan" || has_primus_products(subject)) return {};
  const std::string converters = lower_case(subject.answers.text(Asked::converters).value_or(""));
  const bool narrow = holds(converters, "float8") || holds(converters, "mx") || holds(converters, "fp4");
  if (!narrow) return {};
  const bool linear = converts_linear(converters);
  if (subject.out.network.experts.count == 0) {
    if (linear) return {};
    return fail(subject.answers.where(Asked::converters),
        fmt::format("grouped products alone are converted, and {} has none", subject.out.network.id),
        "the converter of linear layers (quantize.linear.float8), or none");
  }
  const bool experts = converts_experts(subject, converters);
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
