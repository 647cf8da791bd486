// Profiles as JSON: one row per law, one line per row, base units in the keys.
#include "model/profile.h"

#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_reader.h"

namespace stepcast {
namespace {

constexpr Choice<Source> sources[] = {{"measured", Source::measured},
                                      {"fitted", Source::fitted},
                                      {"transferred", Source::transferred},
                                      {"datasheet", Source::datasheet},
                                      {"assumed", Source::assumed}};
constexpr Choice<CollectiveKind> kinds[] = {{"all_gather", CollectiveKind::all_gather},
                                            {"reduce_scatter", CollectiveKind::reduce_scatter},
                                            {"all_reduce", CollectiveKind::all_reduce},
                                            {"all_to_all", CollectiveKind::all_to_all},
                                            {"send_recv", CollectiveKind::send_recv},
                                            {"broadcast", CollectiveKind::broadcast},
                                            {"reduce", CollectiveKind::reduce}};
constexpr Choice<FabricKind> fabrics[] = {{"nvswitch", FabricKind::nvswitch},
                                          {"nvlink_mesh", FabricKind::nvlink_mesh},
                                          {"pcie", FabricKind::pcie},
                                          {"infiniband", FabricKind::infiniband},
                                          {"ethernet", FabricKind::ethernet}};
constexpr Choice<Precision> precisions[] = {{"fp32", Precision::fp32}, {"tf32", Precision::tf32},   {"fp16", Precision::fp16},
                                            {"bf16", Precision::bf16}, {"fp8", Precision::fp8},     {"mxfp8", Precision::mxfp8},
                                            {"nvfp4", Precision::nvfp4}};
constexpr Choice<int> regimes[] = {{"burst", 0}, {"sustained", 1}};

constexpr NumberRange positive_share{1e-3, 1};
constexpr NumberRange slowdown{1, 10};

// --- reading ---

Spread read_spread(JsonObject& object, const std::string& key) {
  std::vector<double> bounds;
  object.read(key, bounds, NumberRange{1e-3, 1e3});
  if (object.failed()) return {};
  object.require(bounds.size() == 2 && bounds[0] <= bounds[1], key, fmt::format("{} numbers, or out of order", bounds.size()),
                 "[p10, p90] of measured / predicted");
  return bounds.size() == 2 ? Spread{bounds[0], bounds[1]} : Spread{};
}

template <typename Law>
void read_provenance(JsonObject& object, Law& law) {
  object.choice("source", law.source, sources);
  law.spread = read_spread(object, "spread");
}

RooflineLaw read_gemm(JsonObject& object) {
  RooflineLaw law;
  object.choice("precision", law.precision, precisions);
  object.read("t0_s", law.t0, Zero::allowed);
  object.read("compute_flops_per_s", law.compute);
  object.read("memory_bytes_per_s", law.memory);
  object.read("softness", law.softness, NumberRange{1, 100});
  read_provenance(object, law);
  return law;
}

AttentionLaw read_attention(JsonObject object) {
  AttentionLaw law;
  object.read("t0_s", law.t0, Zero::allowed);
  object.read("compute_flops_per_s", law.compute);
  object.read("ramp_positions", law.ramp, NumberRange{0, 1e6});
  object.read("backward_efficiency", law.backward_efficiency, positive_share);
  read_provenance(object, law);
  return law;
}

MemoryLaw read_memory(JsonObject object) {
  MemoryLaw law;
  object.read("t0_s", law.t0, Zero::allowed);
  object.read("memory_bytes_per_s", law.memory);
  read_provenance(object, law);
  return law;
}

CollectiveCurve read_curve(JsonObject& object) {
  CollectiveCurve curve;
  object.choice("kind", curve.kind, kinds);
  object.choice("fabric", curve.fabric, fabrics);
  object.read("ranks", curve.ranks, IntegerRange{2, 1'000'000});
  object.read("latency_s", curve.latency, Zero::allowed);
  object.read("bandwidth_bytes_per_s", curve.bandwidth);
  object.optional("half_bytes", curve.half, Zero::allowed);
  object.optional("p", curve.p, NumberRange{0.01, 10});
  std::vector<std::vector<double>> rows;
  if (object.has("points")) object.read_rows("points", rows, 2, NumberRange{1e-12, 1e15});
  for (const auto& row : rows) {
    const bool rising = curve.points.empty() || (row[0] > curve.points.back().received.value() &&
                                                 row[1] >= curve.points.back().time.value());
    object.require(rising, "points", fmt::format("[{}, {}] is not above the point before", row[0], row[1]),
                   "sizes rise, times do not fall");
    curve.points.push_back({Bytes(row[0]), Seconds(row[1])});
  }
  read_provenance(object, curve);
  return curve;
}

ScaleOutLaw read_scale_out(JsonObject& object) {
  ScaleOutLaw law;
  object.choice("fabric", law.fabric, fabrics);
  object.read("efficiency", law.efficiency, positive_share);
  object.read("base_s", law.base, Zero::allowed);
  object.optional("per_doubling_s", law.per_doubling, Zero::allowed);
  object.optional("per_node_s", law.per_node, Zero::allowed);
  read_provenance(object, law);
  return law;
}

OverlapLaw read_overlap(JsonObject object) {
  OverlapLaw law;
  object.read("compute_slowdown", law.compute_slowdown, NumberRange{0, 10});
  object.optional("move_slowdown", law.move_slowdown, NumberRange{0, 10});
  object.choice("source", law.source, sources);
  return law;
}

// --- writing ---

using Json = nlohmann::ordered_json;

/// Six digits are beyond what any timing repeats; shorter files read better.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

template <typename Law>
Json with_provenance(Json row, const Law& law) {
  row["source"] = to_text(law.source);
  row["spread"] = {rounded(law.spread.p10), rounded(law.spread.p90)};
  return row;
}

Json to_json(const RooflineLaw& law) {
  return with_provenance({{"precision", name_of<Precision>(precisions, law.precision)},
                          {"t0_s", rounded(law.t0.value())},
                          {"compute_flops_per_s", rounded(law.compute.value())},
                          {"memory_bytes_per_s", rounded(law.memory.value())},
                          {"softness", law.softness}},
                         law);
}

Json to_json(const AttentionLaw& law) {
  return with_provenance({{"t0_s", rounded(law.t0.value())},
                          {"compute_flops_per_s", rounded(law.compute.value())},
                          {"ramp_positions", rounded(law.ramp)},
                          {"backward_efficiency", rounded(law.backward_efficiency)}},
                         law);
}

Json to_json(const MemoryLaw& law) {
  return with_provenance({{"t0_s", rounded(law.t0.value())}, {"memory_bytes_per_s", rounded(law.memory.value())}}, law);
}

Json to_json(const CollectiveCurve& curve) {
  Json row{{"kind", to_text(curve.kind)},
           {"fabric", name_of<FabricKind>(fabrics, curve.fabric)},
           {"ranks", curve.ranks},
           {"latency_s", rounded(curve.latency.value())},
           {"bandwidth_bytes_per_s", rounded(curve.bandwidth.value())},
           {"half_bytes", rounded(curve.half.value())},
           {"p", rounded(curve.p)}};
  if (!curve.points.empty()) row["points"] = Json::array();
  for (const auto& point : curve.points)
    row["points"].push_back(Json::array({rounded(point.received.value()), rounded(point.time.value())}));
  return with_provenance(std::move(row), curve);
}

Json to_json(const ScaleOutLaw& law) {
  return with_provenance({{"fabric", name_of<FabricKind>(fabrics, law.fabric)},
                          {"efficiency", rounded(law.efficiency)},
                          {"base_s", rounded(law.base.value())},
                          {"per_doubling_s", rounded(law.per_doubling.value())},
                          {"per_node_s", rounded(law.per_node.value())}},
                         law);
}

template <typename Law>
Json rows_of(const std::vector<Law>& laws) {
  Json rows = Json::array();
  for (const Law& law : laws) rows.push_back(to_json(law));
  return rows;
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

}  // namespace

const char* to_text(Source source) { return name_of<Source>(sources, source); }
const char* to_text(CollectiveKind kind) { return name_of<CollectiveKind>(kinds, kind); }

Expected<Profile> read_profile(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  Profile profile;
  file.read("id", profile.id);
  file.read("name", profile.name);
  file.optional("aliases", profile.aliases);
  file.read("gpu", profile.gpu);
  file.read("context", profile.context);
  int regime = 0;
  file.choice("regime", regime, regimes);
  profile.regime = name_of<int>(regimes, regime);
  file.read("sustained_slowdown", profile.sustained_slowdown, slowdown);
  profile.step_spread = read_spread(file, "step_spread");
  file.read("step_spread_source", profile.step_spread_source);
  for (JsonObject& row : file.objects("gemm")) {
    const RooflineLaw law = read_gemm(row);
    row.require(find_gemm(profile, law.precision) == nullptr, "precision", "a second law of this precision", "one per precision");
    profile.gemm.push_back(law);
  }
  profile.attention = read_attention(file.object("attention"));
  profile.memory = read_memory(file.object("memory"));
  for (JsonObject& row : file.objects("collectives")) profile.collectives.push_back(read_curve(row));
  for (JsonObject& row : file.objects("scale_out")) profile.scale_out.push_back(read_scale_out(row));
  profile.overlap = read_overlap(file.object("overlap"));
  file.require(!profile.gemm.empty(), "gemm", "no law", "at least the one of bf16 or fp16");
  return file.finish(profile);
}

std::string write_profile(const Profile& profile) {
  Json document{{"id", profile.id}, {"name", profile.name}};
  if (!profile.aliases.empty()) document["aliases"] = profile.aliases;
  document["gpu"] = profile.gpu;
  document["context"] = profile.context;
  document["regime"] = profile.regime;
  document["sustained_slowdown"] = rounded(profile.sustained_slowdown);
  document["step_spread"] = {rounded(profile.step_spread.p10), rounded(profile.step_spread.p90)};
  document["step_spread_source"] = profile.step_spread_source;
  document["gemm"] = rows_of(profile.gemm);
  document["attention"] = to_json(profile.attention);
  document["memory"] = to_json(profile.memory);
  document["collectives"] = rows_of(profile.collectives);
  document["scale_out"] = rows_of(profile.scale_out);
  document["overlap"] = Json{{"compute_slowdown", rounded(profile.overlap.compute_slowdown)},
                             {"move_slowdown", rounded(profile.overlap.move_slowdown)},
                             {"source", to_text(profile.overlap.source)}};
  return lines_of(document);
}

}  // namespace stepcast
