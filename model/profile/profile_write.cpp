// Profiles as JSON: one line per law.
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/profile/kernel_features.h"
#include "model/profile/profile.h"
#include "model/profile/profile_names.h"
#include "model/profile/scan_law.h"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

/// Six digits are beyond what any timing repeats; shorter files read better.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

/// What steps decide is known to a percent at best.
double shorter(double value) { return std::stod(fmt::format("{:.4g}", value)); }

template <typename Law> Json with_provenance(Json row, const Law& law) {
  row["source"] = to_text(law.source);
  row["spread"] = {rounded(law.spread.p10), rounded(law.spread.p90)};
  return row;
}

Json to_json(const HeldOut& h) {
  return {{"samples", h.samples}, {"mape", rounded(h.mape)}, {"median", rounded(h.median)}, {"p95", rounded(h.p95)},
      {"coverage", rounded(h.coverage)}};
}

Json to_json(const LawError& error) {
  Json row{{"samples", error.samples}, {"mape", rounded(error.mape)}};
  if (error.training_size) row["training_size"] = true;
  return row;
}

/// What is written: all of a profile, what steps read, or what single kernels are asked for besides.
enum class Part : std::uint8_t { whole, steps, kernels };

/// What measurements add to a law, without the fields that say which law it is.
Json with_corrections(Json row, const Refinement& refinement, std::span<const char* const> names) {
  if (refinement.held_out.samples > 0) row["held_out"] = to_json(refinement.held_out);
  if (!refinement.correction.empty() || !refinement.width.empty())
    row["corrected_spread"] = {rounded(refinement.spread.p10), rounded(refinement.spread.p90)};
  if (refinement.bounded_by_padding) row["bounded_by_padding"] = true;
  if (!refinement.correction.empty()) row["correction"] = Json::parse(write_correction(refinement.correction, names));
  if (!refinement.width.empty()) row["width"] = Json::parse(write_correction(refinement.width, names));
  return row;
}

/// Beside a law that steps read there is what they use of it: a correction where its row says so.
bool stays_with_law(const Refinement& refinement, Part part) {
  return part == Part::whole || refinement.use == CorrectionUse::kernels_and_steps;
}

template <typename Law> Json with_refinement(Json row, const Law& law, std::span<const char* const> names, Part part) {
  const Refinement& refinement = law.refinement;
  const bool here = stays_with_law(refinement, part);
  if (here && !refinement.software.empty()) row["software"] = refinement.software;
  row = with_provenance(std::move(row), law);
  if (law.alone.samples > 0) row["held_out_alone"] = to_json(law.alone);
  if (refinement.use != CorrectionUse::none) row["correction_use"] = to_text(refinement.use);
  return here ? with_corrections(std::move(row), refinement, names) : row;
}

/// A row of the kernel part about a law of the step part, named by `key`; none where there is nothing to add.
Json refinement_row(Json key, const Refinement& refinement, std::span<const char* const> names) {
  Json added = Json::object();
  if (!refinement.software.empty()) added["software"] = refinement.software;
  added = with_corrections(std::move(added), refinement, names);
  if (added.empty() || stays_with_law(refinement, Part::kernels)) return {};
  key.update(added);
  return key;
}

Json precision_key(const RooflineLaw& law) {
  Json key{{"precision", name_of<Precision>(precision_names, law.precision)}};
  if (law.block_scaled) key["block_scaled"] = true;
  return key;
}

Json roofline_json(const RooflineLaw& law, std::span<const char* const> names, Part part) {
  Json row{{"precision", name_of<Precision>(precision_names, law.precision)}, {"t0_s", rounded(law.t0.value())},
      {"compute_flops_per_s", rounded(law.compute.value())}, {"memory_bytes_per_s", rounded(law.memory.value())},
      {"softness", law.softness}};
  if (law.block_scaled) row["block_scaled"] = true;
  for (const auto& [key, value] :
      {std::pair{"accumulate", law.accumulate}, {"part_aligned", law.part_aligned}, {"unaligned", law.unaligned}})
    if (value > 0) row[key] = rounded(value);
  if (law.cast.value() > 0)
    row["cast_t0_s"] = rounded(law.cast_t0.value()), row["cast_bytes_per_s"] = rounded(law.cast.value());
  return with_refinement(std::move(row), law, names, part);
}

Json to_json(const ScanLaw& law) {
  Json row{{"function", law.function}, {"software", law.software}, {"t0_s", rounded(law.t0.value())},
      {"first_chunk_s", rounded(law.first_chunk.value())}, {"state_s", rounded(law.state.value())},
      {"chunk_s", rounded(law.chunk.value())}, {"step_s", rounded(law.step.value())},
      {"state_step_s", rounded(law.state_step.value())}, {"softness", law.softness}, {"positions", law.positions},
      {"value_size", law.value_size}, {"key_size", law.key_size}};
  if (!law.kernels.empty()) row["kernels"] = law.kernels;
  if (law.over_learned != 1) row["over_learned"] = law.over_learned;
  return with_corrections(with_provenance(std::move(row), law), law.refinement, scan_feature_names);
}

Json to_json(const HyperConnectionLaw& law) {
  Json row{{"part", name_of<HyperConnectionPart>(hyper_connection_names, law.part)}, {"software", law.software},
      {"t0_s", rounded(law.t0.value())}, {"per_row_byte_s", rounded(law.per_row_byte.value())},
      {"near_bytes", rounded(law.near_bytes.value())}, {"near_bytes_per_s", rounded(law.near_rate.value())},
      {"memory_bytes_per_s", rounded(law.memory.value())}, {"softness", law.softness}};
  if (!law.kernels.empty()) row["kernels"] = law.kernels;
  row = with_provenance(std::move(row), law);
  if (law.held_out.samples > 0) row["held_out"] = to_json(law.held_out);
  return row;
}

Json to_json(const AttentionTerms& terms) {
  return {{"causal_ramp_positions", rounded(terms.causal_ramp)}, {"softmax_elements", rounded(terms.softmax)},
      {"full_rate", rounded(terms.full_rate)}, {"traffic", rounded(terms.traffic)}};
}

Json to_json(const AttentionLaw& law, Part part = Part::whole) {
  Json row{{"t0_s", rounded(law.t0.value())}, {"compute_flops_per_s", rounded(law.compute.value())},
      {"ramp_positions", rounded(law.ramp)}, {"backward_efficiency", rounded(law.backward_efficiency)}};
  if (law.decode) row["decode"] = true;
  if (law.latent) row["latent"] = true;
  if (law.memory.value() > 0) row["memory_bytes_per_s"] = rounded(law.memory.value());
  if (law.forward != AttentionTerms{}) row["forward"] = to_json(law.forward);
  if (law.backward != usual_backward_terms) row["backward"] = to_json(law.backward);
  return with_refinement(std::move(row), law, attention_feature_names, part);
}

Json to_json(const MemoryLaw& law, Part part = Part::whole) {
  Json row{{"t0_s", rounded(law.t0.value())}, {"memory_bytes_per_s", rounded(law.memory.value())}};
  if (!law.op.empty()) row["op"] = law.op;
  return with_refinement(std::move(row), law, memory_feature_names, part);
}

Json to_json(const Conditions& c) {
  Json row = Json::object();
  for (const auto& [key, text] : {std::pair{"device", &c.device}, {"driver", &c.driver}, {"cuda", &c.cuda},
           {"cublas", &c.cublas}, {"nccl", &c.nccl}, {"date", &c.date}, {"launch_mode", &c.launch_mode}})
    if (!text->empty()) row[key] = *text;
  for (const auto& [key, number] : {std::pair{"sm_clock_mhz", c.sm_clock_mhz}, {"memory_clock_mhz", c.memory_clock_mhz},
           {"power_limit_w", c.power_limit_w}})
    if (number > 0) row[key] = number;
  if (!c.sources.empty()) row["sources"] = c.sources;
  return row;
}

Json to_json(const CollectiveCurve& curve) {
  Json row{{"kind", to_text(curve.kind)}, {"fabric", name_of<FabricKind>(fabric_names, curve.fabric)},
      {"ranks", curve.ranks}, {"latency_s", rounded(curve.latency.value())},
      {"bandwidth_bytes_per_s", rounded(curve.bandwidth.value())}, {"half_bytes", rounded(curve.half.value())},
      {"p", rounded(curve.p)}};
  if (!curve.points.empty()) row["points"] = Json::array();
  for (const auto& point : curve.points)
    row["points"].push_back(Json::array({rounded(point.received.value()), rounded(point.time.value())}));
  if (curve.nodes > 1) row["nodes"] = curve.nodes;
  if (!curve.network.empty()) row["network"] = curve.network;
  row = with_provenance(std::move(row), curve);
  if (curve.held_out.samples > 0) row["held_out"] = to_json(curve.held_out);
  for (const auto& [received, spread] : curve.widths)
    row["widths"].push_back(Json::array({rounded(received.value()), rounded(spread.p10), rounded(spread.p90)}));
  return row;
}

Json to_json(const EngineAllReduce& law) {
  Json row{{"software", law.software}, {"captured", law.captured}, {"ranks", law.ranks}, {"points", Json::array()}};
  for (const auto& point : law.points)
    row["points"].push_back(Json::array({point.buffer.value(), rounded(point.time.value())}));
  return with_provenance(std::move(row), law);
}

Json to_json(const EngineExchange& law) {
  Json row{{"software", law.software}, {"kernel", to_text(law.kernel)}, {"direction", to_text(law.direction)},
      {"ranks", law.ranks}};
  if (law.most_ranks > law.ranks) row["most_ranks"] = law.most_ranks;
  if (law.node_ranks > 0) row["node_ranks"] = law.node_ranks;
  row["copies"] = name_of<bool>(exchange_copies_names, law.once_per_rank);
  row["t0_s"] = rounded(law.start.value());
  for (const auto& [key, time] :
      {std::pair{"per_expert_s", law.per_expert}, {"per_row_byte_s", law.per_row_byte}, {"per_token_s", law.per_token}})
    if (time.value() > 0) row[key] = rounded(time.value());
  if (law.most_blocks > 0) row["blocks"] = law.most_blocks;
  if (law.rate.value() > 0) row["bandwidth_bytes_per_s"] = rounded(law.rate.value());
  if (law.softness != 1) row["softness"] = law.softness;
  row["most_tokens"] = law.most_tokens;
  row = with_provenance(std::move(row), law);
  if (law.held_out.samples > 0) row["held_out"] = to_json(law.held_out);
  return row;
}

Json to_json(const CollectiveGrowth& growth) {
  Json row{{"kind", to_text(growth.kind)}, {"fabric", name_of<FabricKind>(fabric_names, growth.fabric)},
      {"from", growth.from}, {"to", growth.to}, {"points", Json::array()}};
  for (const auto& point : growth.points)
    row["points"].push_back(Json::array({rounded(point.buffer.value()), rounded(point.ratio)}));
  if (!growth.learned_on.empty()) row["learned_on"] = growth.learned_on;
  return with_provenance(std::move(row), growth);
}

Json to_json(const ScaleOutLaw& law) {
  Json row = {{"fabric", name_of<FabricKind>(fabric_names, law.fabric)}, {"efficiency", rounded(law.efficiency)},
      {"base_s", rounded(law.base.value())}, {"per_doubling_s", rounded(law.per_doubling.value())},
      {"per_node_s", rounded(law.per_node.value())}};
  if (law.transport != Transport::rdma) row["transport"] = name_of<Transport>(transport_names, law.transport);
  if (law.half.value() > 0) row["half_bytes"] = rounded(law.half.value()), row["exponent"] = rounded(law.exponent);
  if (law.ring_hops > 0) row["ring_hops"] = rounded(law.ring_hops);
  if (law.cap.value() > 0) row["cap_bytes_per_s"] = rounded(law.cap.value());
  return with_provenance(std::move(row), law);
}

Json to_json(const Roof& roof) {
  const char* key = unit_of(roof) == RoofUnit::bytes ? "rate_bytes_per_s" : "rate_flops_per_s";
  return {{"of", roof.of}, {key, rounded(roof.rate)}, {"regime", roof.regime}};
}

/// Of what was measured.
Json to_json(const HostCosts& host) {
  Json row = Json::object();
  for (const auto& [key, time] : {std::pair{"stream_kernel_s", host.stream_kernel},
           {"graph_kernel_s", host.graph_kernel}, {"graph_s", host.graph}, {"event_s", host.event}})
    if (time.value() > 0) row[key] = rounded(time.value());
  return row;
}

Json to_json(const StepFit& fit) {
  Json row{{"stack", fit.stack}, {"precision", name_of<Precision>(precision_names, fit.precision)}};
  if (fit.experts) row["experts"] = true;
  row["parameters"] = Json::object();
  for (const StepValue& value : fit.values)
    row["parameters"][std::string(row_of(value.parameter).id)] = shorter(value.value);
  row["runs"] = fit.runs;
  if (fit.groups > 0) row["groups"] = fit.groups;
  if (!fit.left_out.empty()) row["left_out"] = fit.left_out;
  row["mape"] = shorter(fit.mape);
  if (fit.groups > 0) row["held_out_mape"] = shorter(fit.held_out_mape);
  row["spread"] = {shorter(fit.spread.p10), shorter(fit.spread.p90)};
  if (fit.pairs > 0) row["pairs"] = fit.pairs, row["pair_spread"] = shorter(fit.pair_spread);
  if (fit.most_gpus > 0) row["most_gpus"] = fit.most_gpus;
  row["gpus"] = fit.gpus;
  row["source"] = fit.source;
  return row;
}

Json rooflines(const std::vector<RooflineLaw>& laws, std::span<const char* const> names, Part part) {
  Json rows = Json::array();
  for (const RooflineLaw& law : laws) rows.push_back(roofline_json(law, names, part));
  return rows;
}

template <typename Law> Json rows_of(const std::vector<Law>& laws) {
  Json rows = Json::array();
  for (const Law& law : laws) rows.push_back(to_json(law));
  return rows;
}

/// Training's laws stand in the part that steps read, those of engines' own kernels in the other.
template <typename Law> Json rows_of_part(const std::vector<Law>& laws, bool of_training, bool of_engines) {
  Json rows = Json::array();
  for (const Law& law : laws)
    if (law.kernels.empty() ? of_training : of_engines) rows.push_back(to_json(law));
  return rows;
}

void add_rows_of_part(Json& document, const Profile& profile, bool of_training, bool of_engines) {
  if (Json scans = rows_of_part(profile.scans, of_training, of_engines); !scans.empty())
    document["scans"] = std::move(scans);
  if (Json mixed = rows_of_part(profile.hyper_connections, of_training, of_engines); !mixed.empty())
    document["hyper_connections"] = std::move(mixed);
}

/// One line per key, and one per row of a list of objects.
std::string lines_of(const Json& document) {
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}\n  {}: ", text.size() > 1 ? "," : "", Json(key).dump());
    const bool rows = value.is_array() && !value.empty() && value.front().is_object();
    if (!rows) {
      text += value.dump();
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += fmt::format("{}\n    {}", i ? "," : "[", value[i].dump());
    text += "\n  ]";
  }
  return text + "\n}\n";
}

std::string profile_text(const Profile& profile, Part part) {
  Json document{{"id", profile.id}, {"name", profile.name}};
  if (!profile.aliases.empty()) document["aliases"] = profile.aliases;
  document["gpu"] = profile.gpu;
  document["context"] = profile.context;
  document["regime"] = profile.regime;
  document["sustained_slowdown"] = rounded(profile.sustained_slowdown);
  document["step_spread"] = {rounded(profile.step_spread.p10), rounded(profile.step_spread.p90)};
  document["step_spread_source"] = profile.step_spread_source;
  if (const Json conditions = to_json(profile.conditions); !conditions.empty()) document["conditions"] = conditions;
  if (profile.units.multiprocessors > 0) document["multiprocessors"] = profile.units.multiprocessors;
  if (profile.units.l2.value() > 0) document["l2_bytes"] = profile.units.l2.value();
  const bool whole = part == Part::whole;
  document["gemm"] = rooflines(profile.gemm, gemm_feature_names, part);
  document["attention"] = to_json(profile.attention, part);
  if (whole && !profile.attention_kernels.empty()) document["attention_kernels"] = rows_of(profile.attention_kernels);
  add_rows_of_part(document, profile, true, whole);
  document["memory"] = to_json(profile.memory, part);
  if (whole && !profile.memory_ops.empty()) document["memory_ops"] = rows_of(profile.memory_ops);
  if (whole && !profile.moe.empty()) document["moe"] = rooflines(profile.moe, moe_feature_names, part);
  if (whole && !profile.engine_all_reduces.empty())
    document["engine_all_reduces"] = rows_of(profile.engine_all_reduces);
  if (whole && !profile.engine_exchanges.empty()) document["engine_exchanges"] = rows_of(profile.engine_exchanges);
  document["collectives"] = rows_of(profile.collectives);
  if (!profile.growth.empty()) document["growth"] = rows_of(profile.growth);
  document["scale_out"] = rows_of(profile.scale_out);
  document["overlap"] = Json{{"compute_slowdown", rounded(profile.overlap.compute_slowdown)},
      {"move_slowdown", rounded(profile.overlap.move_slowdown)}, {"source", to_text(profile.overlap.source)}};
  if (!profile.roofs.empty()) document["roofs"] = rows_of(profile.roofs);
  if (const Json host = to_json(profile.host); !host.empty()) document["host"] = host;
  if (!profile.steps.empty()) document["steps"] = rows_of(profile.steps);
  return lines_of(document);
}

}  // namespace

std::string write_profile(const Profile& profile) { return profile_text(profile, Part::whole); }
std::string write_step_part(const Profile& profile) { return profile_text(profile, Part::steps); }

std::string write_kernel_part(const Profile& profile) {
  Json document{{"id", profile.id}};
  Json products = Json::array();
  for (const RooflineLaw& law : profile.gemm)
    if (Json row = refinement_row(precision_key(law), law.refinement, gemm_feature_names); !row.is_null())
      products.push_back(std::move(row));
  if (!products.empty()) document["gemm"] = std::move(products);
  if (Json row = refinement_row(Json::object(), profile.attention.refinement, attention_feature_names); !row.is_null())
    document["attention"] = std::move(row);
  if (!profile.attention_kernels.empty()) document["attention_kernels"] = rows_of(profile.attention_kernels);
  if (Json row = refinement_row(Json::object(), profile.memory.refinement, memory_feature_names); !row.is_null())
    document["memory"] = std::move(row);
  if (!profile.memory_ops.empty()) document["memory_ops"] = rows_of(profile.memory_ops);
  if (!profile.moe.empty()) document["moe"] = rooflines(profile.moe, moe_feature_names, Part::whole);
  if (!profile.engine_all_reduces.empty()) document["engine_all_reduces"] = rows_of(profile.engine_all_reduces);
  if (!profile.engine_exchanges.empty()) document["engine_exchanges"] = rows_of(profile.engine_exchanges);
  add_rows_of_part(document, profile, false, true);
  return lines_of(document);
}

}  // namespace stepcast
