#include "calibrate/import/tables/plain_words.h"

#include <algorithm>
#include <cctype>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
struct ElementName { std::string_view name; Precision precision; bool block_scaled = false; };
constexpr ElementName element_names[] = {
    {"bf16", Precision::bf16},       {"bfloat16", Precision::bf16},   {"fp16", Precision::fp16},
    {"float16", Precision::fp16},    {"half", Precision::fp16},       {"f16", Precision::fp16},
    {"fp32", Precision::fp32},       {"float32", Precision::fp32},    {"float", Precision::fp32},
    {"f32", Precision::fp32},        {"single", Precision::fp32},     {"tf32", Precision::tf32},
    {"fp8", Precision::fp8},         {"float8", Precision::fp8},      {"e4m3", Precision::fp8},
    {"float8e4m3fn", Precision::fp8},{"float8e4m3", Precision::fp8},  {"float8e5m2", Precision::fp8},
    {"e5m2", Precision::fp8},        {"f8e4m3", Precision::fp8},      {"fp8e4m3", Precision::fp8},
    {"fp8block", Precision::fp8, true},                               {"mxfp8", Precision::mxfp8},
    {"nvfp4", Precision::nvfp4},     {"nvbfloat16", Precision::bf16},
};

struct ByteSize { std::string_view name; double bytes; };
constexpr ByteSize other_elements[] = {
    {"int8", 1}, {"uint8", 1}, {"char", 1}, {"byte", 1}, {"bool", 1},  {"i8", 1},     {"u8", 1},    {"int16", 2},
    {"short", 2}, {"int32", 4}, {"int", 4}, {"i32", 4},  {"int64", 8}, {"long", 8},   {"i64", 8},   {"longint", 8},
    {"double", 8}, {"fp64", 8}, {"float64", 8}, {"f64", 8},
};

struct CollectiveName { std::string_view name; CollectiveKind kind; };
/// The last ones are PyTorch's (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
constexpr CollectiveName collective_words[] = {
    {"allgather", CollectiveKind::all_gather},          {"reducescatter", CollectiveKind::reduce_scatter},
    {"allreduce", CollectiveKind::all_reduce},          {"alltoall", CollectiveKind::all_to_all},
    {"sendrecv", CollectiveKind::send_recv},            {"broadcast", CollectiveKind::broadcast},
    {"reduce", CollectiveKind::reduce},                 {"allgatherbase", CollectiveKind::all_gather},
    {"reducescatterbase", CollectiveKind::reduce_scatter}, {"alltoallbase", CollectiveKind::all_to_all},
    {"allgatherintotensor", CollectiveKind::all_gather}, {"reducescattertensor", CollectiveKind::reduce_scatter},
    {"alltoallsingle", CollectiveKind::all_to_all},
};

struct PassName { std::string_view name; AttentionPass pass; };
constexpr PassName pass_names[] = {
    {"fwd", AttentionPass::forward},   {"forward", AttentionPass::forward}, {"prefill", AttentionPass::forward},
    {"context", AttentionPass::forward}, {"bwd", AttentionPass::backward},  {"backward", AttentionPass::backward},
    {"fwdbwd", AttentionPass::forward_and_backward}, {"forwardandbackward", AttentionPass::forward_and_backward},
    {"decode", AttentionPass::decode}, {"generation", AttentionPass::decode},
};
// clang-format on

/// Letters and digits in lower case: "c10::BFloat16" -> "c10bfloat16", without the namespace.
std::string bare_name(std::string_view name) {
  constexpr std::size_t longest_name = 80;
  if (name.size() > longest_name) return {};
  if (const std::size_t scope = name.rfind("::"); scope != std::string_view::npos) name.remove_prefix(scope + 2);
  if (name.starts_with("torch.")) name.remove_prefix(6);
  std::string bare = lower_case(name);
  std::erase_if(bare, [](unsigned char c) { return std::isalnum(c) == 0; });
  return bare;
}

template <typename Row, std::size_t N> const Row* row_named(const Row (&rows)[N], std::string_view bare) {
  const auto at = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == bare; });
  return at == std::end(rows) ? nullptr : at;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr TimeUnit time_units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}, {"s", 1}, {"usec", 1e-6}, {"msec", 1e-3},
    {"\xC2\xB5s", 1e-6}, {"seconds", 1}, {"sec", 1}};
constexpr std::string_view time_words[] = {"time", "latency", "duration", "runtime", "elapsed", "median", "mean",
    "median_time", "time_median", "mean_time", "gpu_time", "kernel_time", "median_latency", "avg_latency",
    "latency_avg", "dur"};

bool is_time_word(std::string_view stem) {
  return std::find(std::begin(time_words), std::end(time_words), stem) != std::end(time_words);
}

}  // namespace

std::optional<ElementType> element_type_of(std::string_view name) {
  const auto* row = row_named(element_names, bare_name(name));
  return row == nullptr ? std::nullopt : std::optional(ElementType{row->precision, row->block_scaled});
}

std::optional<ElementType> element_type_of_file(std::string_view path) {
  std::string_view name = last_of_path(path);
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("_-."), name.size());
    if (const auto type = element_type_of(name.substr(0, end))) return type;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return std::nullopt;
}

double element_bytes_of(std::string_view name) {
  if (const auto type = element_type_of(name)) return operand_bytes(type->precision);
  const auto* row = row_named(other_elements, bare_name(name));
  return row == nullptr ? 0 : row->bytes;
}

std::optional<CollectiveKind> collective_kind_of(std::string_view name) {
  const auto* row = row_named(collective_words, bare_name(name));
  return row == nullptr ? std::nullopt : std::optional(row->kind);
}

std::optional<AttentionPass> attention_pass_of(std::string_view name) {
  const auto* row = row_named(pass_names, bare_name(name));
  return row == nullptr ? std::nullopt : std::optional(row->pass);
}

std::optional<double> time_unit_of(std::string_view column) {
  std::string name = lower_case(stripped(column));
  if (!name.empty() && (name.back() == ')' || name.back() == ']')) name.pop_back();
  const std::size_t cut = name.find_last_of("_ ([.");
  if (cut == std::string::npos) return std::nullopt;
  const std::size_t stem = name.find_last_not_of("_ ([.", cut);
  if (stem == std::string::npos || !is_time_word(std::string_view(name).substr(0, stem + 1))) return std::nullopt;
  const auto* unit = row_named(time_units, std::string_view(name).substr(cut + 1));
  return unit == nullptr ? std::nullopt : std::optional(unit->seconds);
}

bool names_time_without_unit(std::string_view column) { return is_time_word(lower_case(stripped(column))); }

std::size_t glued_value(std::string_view word) {
  const bool option = word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  return option && word.find_first_not_of("0123456789", 2) == word.npos ? 2 : 0;
}

std::string_view last_of_path(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace stepcast::calibrate
