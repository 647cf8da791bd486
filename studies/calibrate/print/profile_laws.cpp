#include "studies/calibrate/print/profile_laws.h"

#include <fmt/format.h>

#include "model/profile/kernel_law.h"
#include "model/profile/profile_names.h"
#include "model/base/quantity_text.h"

namespace stepcast::calibration {
namespace {

using Parameters = std::vector<std::pair<std::string, double>>;

template <typename Law> LawRow row_of_refined(std::string name, const Law& law, Parameters parameters) {
  const Refinement& refinement = law.refinement;
  const bool refined = !refinement.correction.empty() || !refinement.width.empty();
  return {std::move(name), refinement.software, law.source, refined ? refinement.spread : law.spread,
      refinement.held_out, !refinement.correction.empty(), refinement.use, error_alone(law.alone, refinement),
      std::move(parameters)};
}

LawRow row_of(const std::string& kind, const RooflineLaw& law) {
  Parameters parameters{{"rate_flops_per_s", law.compute.value()}, {"memory_bytes_per_s", law.memory.value()},
      {"t0_s", law.t0.value()}, {"softness", law.softness}};
  for (const auto& [key, value] :
      {std::pair{"accumulate", law.accumulate}, {"part_aligned", law.part_aligned}, {"unaligned", law.unaligned}})
    if (value > 0) parameters.emplace_back(key, value);
  if (law.cast.value() > 0) {
    parameters.emplace_back("cast_bytes_per_s", law.cast.value());
    parameters.emplace_back("cast_t0_s", law.cast_t0.value());
  }
  const std::string name =
      fmt::format("{} {}{}", kind, to_text(law.precision), law.block_scaled ? " block-scaled" : "");
  return row_of_refined(name, law, std::move(parameters));
}

void add_terms(
    Parameters& parameters, const std::string& pass, const AttentionTerms& terms, const AttentionTerms& usual) {
  if (terms == usual) return;
  for (const auto& [key, value] : {std::pair{"causal_ramp_positions", terms.causal_ramp},
           {"softmax_elements", terms.softmax}, {"full_rate", terms.full_rate}, {"traffic", terms.traffic}})
    parameters.emplace_back(fmt::format("{}_{}", pass, key), value);
}

LawRow row_of(const AttentionLaw& law) {
  Parameters parameters{{"rate_flops_per_s", law.compute.value()}};
  if (law.memory.value() > 0) parameters.emplace_back("memory_bytes_per_s", law.memory.value());
  parameters.emplace_back("t0_s", law.t0.value());
  if (!law.decode) {
    parameters.emplace_back("ramp_positions", law.ramp);
    parameters.emplace_back("backward_efficiency", law.backward_efficiency);
    add_terms(parameters, "forward", law.forward, AttentionTerms{});
    add_terms(parameters, "backward", law.backward, usual_backward_terms);
  }
  return row_of_refined(law.latent   ? "latent attention decode"
                        : law.decode ? "attention decode"
                                     : "attention",
      law, std::move(parameters));
}

LawRow row_of(const MemoryLaw& law) {
  return row_of_refined(law.op.empty() ? "memory-bound, any" : law.op, law,
      {{"memory_bytes_per_s", law.memory.value()}, {"t0_s", law.t0.value()}});
}

LawRow row_of(const CollectiveCurve& curve) {
  std::string name =
      fmt::format("{} {} x{}", to_text(curve.kind), name_of<FabricKind>(fabric_names, curve.fabric), curve.ranks);
  if (curve.nodes > 1) name += fmt::format(" on {} nodes", curve.nodes);
  return {std::move(name), curve.network, curve.source, curve.spread, curve.held_out, !curve.points.empty(),
      CorrectionUse::none, {},
      {{"bus_bytes_per_s", curve.bandwidth.value()}, {"latency_s", curve.latency.value()},
          {"half_bytes", curve.half.value()}}};
}

LawRow row_of(const ScaleOutLaw& law) {
  return {fmt::format("across nodes, {}", name_of<FabricKind>(fabric_names, law.fabric)), "", law.source, law.spread,
      {}, false, CorrectionUse::none, {},
      {{"efficiency", law.efficiency}, {"base_s", law.base.value()}, {"per_doubling_s", law.per_doubling.value()},
          {"per_node_s", law.per_node.value()}}};
}

}  // namespace

std::vector<LawRow> law_rows(const Profile& profile) {
  std::vector<LawRow> rows;
  for (const RooflineLaw& law : profile.gemm) rows.push_back(row_of("gemm", law));
  rows.push_back(row_of(profile.attention));
  for (const AttentionLaw& law : profile.attention_kernels) rows.push_back(row_of(law));
  for (const RooflineLaw& law : profile.moe) rows.push_back(row_of("moe", law));
  for (const MemoryLaw& law : profile.memory_ops) rows.push_back(row_of(law));
  rows.push_back(row_of(profile.memory));
  for (const CollectiveCurve& curve : profile.collectives) rows.push_back(row_of(curve));
  for (const ScaleOutLaw& law : profile.scale_out) rows.push_back(row_of(law));
  return rows;
}

std::string parameter_name(std::string_view key) {
  for (const std::string_view end : {"_flops_per_s", "_bytes_per_s", "_bytes", "_positions", "_s"})
    if (key.ends_with(end)) return std::string(key.substr(0, key.size() - end.size()));
  std::string name(key);
  for (char& c : name)
    if (c == '_') c = ' ';
  return name;
}

std::string parameter_text(std::string_view key, double value) {
  if (key.ends_with("_flops_per_s")) return format_flops(FlopsPerSecond(value));
  if (key.ends_with("_bytes_per_s")) return format_rate(BytesPerSecond(value));
  if (key.ends_with("_bytes")) return format_bytes_decimal(Bytes(value));
  if (key.ends_with("_s")) return format_seconds(Seconds(value));
  return fmt::format("{:.3g}", value);
}

std::string parameters_text(const LawRow& row) {
  std::string text;
  for (const auto& [key, value] : row.parameters)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parameter_name(key), parameter_text(key, value));
  return text;
}

std::vector<std::string> held_out_cells(const HeldOut& e) {
  if (e.samples == 0) return {"-", "-", "-", "-"};
  // Collectives know their mean alone.
  const auto known = [](double share) { return share > 0 ? fmt::format("{:.1f} %", 100 * share) : std::string("-"); };
  return {fmt::format("{:.1f} %", 100 * e.mape), known(e.median), known(e.p95), known(e.coverage)};
}

std::vector<std::pair<std::string, std::string>> condition_rows(const Profile& profile) {
  const Conditions& c = profile.conditions;
  const auto number = [](double value, const char* unit) {
    return value > 0 ? fmt::format("{:g} {}", value, unit) : std::string();
  };
  return {{"gpu", profile.gpu}, {"regime", profile.regime}, {"device", c.device}, {"driver", c.driver},
      {"cuda", c.cuda}, {"cublas", c.cublas}, {"nccl", c.nccl}, {"date", c.date}, {"launch mode", c.launch_mode},
      {"sm clock", number(c.sm_clock_mhz, "MHz")}, {"memory clock", number(c.memory_clock_mhz, "MHz")},
      {"power limit", number(c.power_limit_w, "W")},
      {"sustained over burst",
          profile.sustained_slowdown != 1 ? fmt::format("{:.3f}", profile.sustained_slowdown) : ""}};
}

void write_held_out(JsonWriter& json, std::string_view key, const HeldOut& held_out) {
  if (held_out.samples == 0) return json.null_field(key);
  json.object(key, "samples", held_out.samples, "mape", held_out.mape, "median", held_out.median, "p95", held_out.p95,
      "coverage", held_out.coverage);
}

void write_law(JsonWriter& json, const LawRow& row) {
  json.fields("law", row.law, "software", row.software, "source", to_text(row.source));
  json.open("parameters");
  for (const auto& [key, value] : row.parameters) json.field(key, value);
  json.close();
  json.field("corrected", row.corrected);
  if (row.use != CorrectionUse::none) json.field("correction_use", to_text(row.use));
  if (row.alone.samples > 0) {
    json.open("held_out_alone");
    json.fields("samples", row.alone.samples, "mape", row.alone.mape, "training_size", row.alone.training_size);
    json.close();
  }
  json.field("spread", std::vector<double>{row.spread.p10, row.spread.p90});
}

}  // namespace stepcast::calibration
