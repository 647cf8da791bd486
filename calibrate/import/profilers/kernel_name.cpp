#include "calibrate/import/profilers/kernel_name.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
struct NamePart { std::string_view part, kind; };
/// The first that the name holds decides: a flash kernel also says gemm in its template arguments.
constexpr NamePart class_parts[] = {
    {"nccl", "collective"}, {"rccl", "collective"},  {"flash", "attention"},   {"fmha", "attention"},
    {"attention", "attention"}, {"mha_", "attention"}, {"softmax", "softmax"}, {"layer_norm", "norm"},
    {"layernorm", "norm"},  {"rms_norm", "norm"},    {"rmsnorm", "norm"},      {"gemm", "gemm"},
    {"nvjet", "gemm"},      {"cutlass", "gemm"},     {"splitkreduce", "gemm"}, {"memcpy", "copy"},
    {"memset", "copy"},     {"copy", "copy"},        {"elementwise", "elementwise"},
};

struct TypePart { std::string_view part; Precision precision; };
/// From the longest hint to the vaguest. nvjet_tst is cuBLAS' bf16 or fp16 on Hopper: it does not say which.
constexpr TypePart type_parts[] = {
    {"e4m3", Precision::fp8},       {"e5m2", Precision::fp8},
    {"fp8", Precision::fp8},        {"nvfp4", Precision::nvfp4},
    {"e2m1", Precision::nvfp4},     {"bf16", Precision::bf16},
    {"bfloat16", Precision::bf16},  {"tf32", Precision::tf32},
    {"f16f16", Precision::fp16},    {"_fp16", Precision::fp16},
    {"h16816", Precision::fp16},    {"hgemm", Precision::fp16},
    {"half_t", Precision::fp16},    {"__half", Precision::fp16},
    {"c10::half", Precision::fp16}, {"s16816gemm_f16", Precision::fp16},
    {"sgemm", Precision::fp32},     {"f32f32_f32f32", Precision::fp32},
};
// clang-format on

/// Whether a word stands in the name between other characters than letters.
bool has_word(std::string_view name, std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(name[at - 1])) && (end == name.size() || !letter(name[end]))) return true;
  }
  return false;
}

}  // namespace

std::string_view kernel_class(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  for (const NamePart& row : class_parts)
    if (name.find(row.part) != std::string::npos) return row.kind;
  return "other";
}

std::optional<ElementType> element_type_of_kernel(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  for (const TypePart& row : type_parts)
    if (name.find(row.part) != std::string::npos) return ElementType{row.precision, false};
  return std::nullopt;
}

std::optional<GemmLayout> layout_of_kernel(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  if (has_word(name, "tn") || has_word(name, "tnt") || has_word(name, "tnn")) return GemmLayout::tn;
  if (has_word(name, "nn") || has_word(name, "nnn") || has_word(name, "nnt")) return GemmLayout::nn;
  if (has_word(name, "nt") || has_word(name, "ntn") || has_word(name, "ntt")) return GemmLayout::nt;
  return std::nullopt;
}

std::optional<CollectiveKind> collective_of_kernel(std::string_view kernel) {
  if (kernel_class(kernel) != "collective") return std::nullopt;
  const std::size_t begin = kernel.find('_');
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = kernel.substr(begin + 1);
  return collective_kind_of(rest.substr(0, rest.find_first_of("_(<")));
}

void ShapelessKernels::leave_out(std::string_view kernel, const std::string& why, double seconds) {
  constexpr std::size_t longest_name = 60;
  Left& left = by_reason_[why];
  left.seconds += seconds;
  ++left.kernels;
  left.by_name[std::string(kernel.substr(0, longest_name))] += seconds;
}

std::vector<std::string> ShapelessKernels::notes(const std::string& file) const {
  std::vector<std::string> lines;
  const auto share = [&](double seconds) { return total_ > 0 ? 100 * seconds / total_ : 0; };
  for (const auto& [why, left] : by_reason_) {
    std::vector<std::pair<double, std::string>> longest;
    for (const auto& [name, seconds] : left.by_name) longest.emplace_back(seconds, name);
    std::sort(longest.begin(), longest.end(),
        [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    constexpr std::size_t named = 5;
    std::vector<std::string> shown_names;
    for (std::size_t i = 0; i < std::min(named, longest.size()); ++i)
      shown_names.push_back(fmt::format("{} {:.1f} %", longest[i].second, share(longest[i].first)));
    lines.push_back(fmt::format("{}: left out {} kernels, {:.1f} % of {:.4g} ms of kernels: {}; {}", file, left.kernels,
        share(left.seconds), total_ * 1e3, why, fmt::join(shown_names, ", ")));
  }
  return lines;
}

}  // namespace stepcast::calibrate
