#include "calibrate/rows/measurement_columns.h"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "model/profile/profile_names.h"

namespace stepcast::calibrate::detail {
namespace {

constexpr Choice<GemmLayout> column_layouts[] = {
    {"tn", GemmLayout::tn}, {"nn", GemmLayout::nn}, {"nt", GemmLayout::nt}};
constexpr Choice<AttentionPass> column_passes[] = {{"forward", AttentionPass::forward},
    {"backward", AttentionPass::backward}, {"forward_and_backward", AttentionPass::forward_and_backward},
    {"decode", AttentionPass::decode}};
constexpr Choice<TransferKind> transfer_kinds[] = {
    {"host_to_device", TransferKind::host_to_device}, {"device_to_host", TransferKind::device_to_host}};
constexpr Choice<LaunchKind> launch_kinds[] = {{"stream_kernel", LaunchKind::stream_kernel},
    {"graph_kernel", LaunchKind::graph_kernel}, {"graph", LaunchKind::graph}, {"event", LaunchKind::event}};

template <typename Enum> constexpr std::span<const Choice<Enum>> choices_of();
template <> constexpr std::span<const Choice<Precision>> choices_of() { return precision_names; }
template <> constexpr std::span<const Choice<GemmLayout>> choices_of() { return column_layouts; }
template <> constexpr std::span<const Choice<AttentionPass>> choices_of() { return column_passes; }
template <> constexpr std::span<const Choice<CollectiveKind>> choices_of() { return collective_names; }
template <> constexpr std::span<const Choice<TransferKind>> choices_of() { return transfer_kinds; }
template <> constexpr std::span<const Choice<LaunchKind>> choices_of() { return launch_kinds; }

/// Numbers that a column may hold: counts and sizes start at 1 or above 0, spreads and powers at 0.
enum class Least { zero, above_zero };

std::string take_number(double& out, const JsonValue& value, Least least) {
  const bool number = value.type == JsonType::number || value.type == JsonType::integer;
  const bool fits =
      number && std::isfinite(value.number) && (least == Least::zero ? value.number >= 0 : value.number > 0);
  if (!fits) return least == Least::zero ? "a number, 0 or above" : "a number above 0";
  out = value.number;
  return {};
}

std::string take_count(std::int64_t& out, const JsonValue& value) {
  constexpr std::int64_t most = std::int64_t{1} << 31;  // ranks, repeats: beyond any cluster, within an int
  if (value.type != JsonType::integer || value.integer < 1 || value.integer >= most)
    return "a whole number, 1 or above";
  out = value.integer;
  return {};
}

std::string print_value(double value) { return json_number(value); }
std::string print_value(bool value) { return value ? "true" : "false"; }
std::string print_value(std::int64_t value) { return fmt::to_string(value); }
std::string print_value(int value) { return fmt::to_string(value); }
template <int S, int B, int F> std::string print_value(Quantity<S, B, F> value) { return json_number(value.value()); }
template <typename Enum>
requires std::is_enum_v<Enum> std::string print_value(Enum value) {
  return json_quoted(name_of<Enum>(choices_of<Enum>(), value));
}

template <Least least> std::string take_value(double& out, const JsonValue& value) {
  return take_number(out, value, least);
}
template <Least, typename Enum>
requires std::is_enum_v<Enum> std::string take_value(Enum& out, const JsonValue& value) {
  std::vector<std::string> names;
  for (const Choice<Enum>& row : choices_of<Enum>()) {
    if (value.type == JsonType::string && value.parts->text == row.name) return out = row.value, std::string();
    names.emplace_back(row.name);
  }
  return name_hint(value.type == JsonType::string ? std::string_view(value.parts->text) : "", names);
}
template <Least> std::string take_value(bool& out, const JsonValue& value) {
  if (value.type != JsonType::boolean) return "true or false";
  out = value.boolean;
  return {};
}
template <Least> std::string take_value(std::int64_t& out, const JsonValue& value) { return take_count(out, value); }
template <Least> std::string take_value(int& out, const JsonValue& value) {
  std::int64_t wide = out;
  std::string wanted = take_count(wide, value);
  out = static_cast<int>(wide);
  return wanted;
}
template <Least least, int S, int B, int F> std::string take_value(Quantity<S, B, F>& out, const JsonValue& value) {
  double number = out.value();
  std::string wanted = take_number(number, value, least);
  out = Quantity<S, B, F>(number);
  return wanted;
}

/// A member of the query of type Q, or of the measurement itself.
template <typename Q, auto member> auto& member_in(auto& measurement) {
  if constexpr (std::is_same_v<Q, Measurement>) return measurement.*member;
  else return std::get<Q>(measurement.what).*member;
}

template <typename Q, auto member, Least least = Least::above_zero>
constexpr MeasurementColumn column(std::string_view name, bool always = false) {
  return {name, always, [](const Measurement& m) -> std::string { return print_value(member_in<Q, member>(m)); },
      [](Measurement& m, const JsonValue& value) -> std::string {
        return take_value<least>(member_in<Q, member>(m), value);
      }};
}

std::string print_op(const Measurement& m) { return json_quoted(std::get<MemoryQuery>(m.what).op->id); }
std::string take_op(Measurement& m, const JsonValue& value) {
  std::vector<std::string> names;
  for (const MemoryOp& op : memory_ops()) {
    if (value.type == JsonType::string && value.parts->text == op.id)
      return std::get<MemoryQuery>(m.what).op = &op, std::string();
    names.emplace_back(op.id);
  }
  return name_hint(value.type == JsonType::string ? std::string_view(value.parts->text) : "", names);
}

using Gemm = GemmQuery;
constexpr std::array gemm_columns{
    column<Gemm, &Gemm::m>("m", true),
    column<Gemm, &Gemm::n>("n", true),
    column<Gemm, &Gemm::k>("k", true),
    column<Gemm, &Gemm::batch>("batch"),
    column<Gemm, &Gemm::precision>("precision"),
    column<Gemm, &Gemm::block_scaled>("block_scaled"),
    column<Gemm, &Gemm::layout>("layout"),
    column<Gemm, &Gemm::casts_x>("casts_x"),
};
using Attention = AttentionQuery;
constexpr std::array attention_columns{
    column<Attention, &Attention::batch>("batch"),
    column<Attention, &Attention::queries>("queries", true),
    column<Attention, &Attention::keys>("keys", true),
    column<Attention, &Attention::heads>("heads", true),
    column<Attention, &Attention::kv_heads>("kv_heads", true),
    column<Attention, &Attention::head_dim>("head_dim"),
    column<Attention, &Attention::pass>("pass"),
    column<Attention, &Attention::causal>("causal"),
    column<Attention, &Attention::precision>("precision"),
    column<Attention, &Attention::latent_values, Least::zero>("latent_values"),
};
using Moe = MoeQuery;
constexpr std::array moe_columns{
    column<Moe, &Moe::tokens>("tokens", true),
    column<Moe, &Moe::hidden>("hidden", true),
    column<Moe, &Moe::inter>("inter", true),
    column<Moe, &Moe::topk>("topk", true),
    column<Moe, &Moe::experts>("experts", true),
    column<Moe, &Moe::tensor_ways>("tensor_ways"),
    column<Moe, &Moe::expert_ways>("expert_ways"),
    column<Moe, &Moe::skew, Least::zero>("skew"),
    column<Moe, &Moe::precision>("precision"),
};
using Memory = MemoryQuery;
constexpr std::array memory_columns{
    MeasurementColumn{"op", true, print_op, take_op},
    column<Memory, &Memory::rows>("rows", true),
    column<Memory, &Memory::columns>("columns", true),
    column<Memory, &Memory::element_bytes>("element_bytes"),
};
using Collective = CollectiveQuery;
constexpr std::array collective_columns{
    column<Collective, &Collective::kind>("kind", true),
    column<Collective, &Collective::ranks>("ranks", true),
    column<Collective, &Collective::nodes>("nodes"),
    column<Collective, &Collective::bytes>("bytes", true),
};
constexpr std::array transfer_columns{
    column<TransferQuery, &TransferQuery::kind>("kind", true),
    column<TransferQuery, &TransferQuery::bytes>("bytes", true),
};
constexpr std::array launch_columns{column<LaunchQuery, &LaunchQuery::kind>("kind", true)};
constexpr std::array common_columns{
    column<Measurement, &Measurement::time>("time_s", true),
    column<Measurement, &Measurement::low, Least::zero>("low_s"),
    column<Measurement, &Measurement::high, Least::zero>("high_s"),
    column<Measurement, &Measurement::repeats>("repeats"),
    column<Measurement, &Measurement::power_w, Least::zero>("power_w"),
    column<Measurement, &Measurement::throttled>("throttled"),
    column<Measurement, &Measurement::sm_clock_mhz, Least::zero>("sm_clock_mhz"),
    column<Measurement, &Measurement::power_limited>("power_limited"),
    column<Measurement, &Measurement::unsettled>("unsettled"),
};

}  // namespace

std::span<const MeasurementTable> measurement_tables() {
  static const std::array tables{
      MeasurementTable{"gemm", GemmQuery{}, gemm_columns},
      MeasurementTable{"attention", AttentionQuery{}, attention_columns},
      MeasurementTable{"moe", MoeQuery{}, moe_columns},
      MeasurementTable{"memory", MemoryQuery{&memory_ops().front()}, memory_columns},
      MeasurementTable{"collective", CollectiveQuery{}, collective_columns},
      MeasurementTable{"transfer", TransferQuery{}, transfer_columns},
      MeasurementTable{"launch", LaunchQuery{}, launch_columns},
  };
  return tables;
}

std::span<const MeasurementColumn> common_measurement_columns() { return common_columns; }

}  // namespace stepcast::calibrate::detail
