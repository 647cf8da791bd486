// Profiles from JSON: one row per law, base units in the keys.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "model/machine/plausible.h"
#include "model/profile/kernel_features.h"
#include "model/network/operator.h"
#include "model/profile/profile.h"
#include "model/profile/profile_names.h"

namespace stepcast {
namespace {

constexpr NumberRange positive_share{1e-3, 1};
constexpr NumberRange not_negative{0, 1e9};
constexpr NumberRange slowdown{1, 10};

Spread read_spread(JsonObject& object, const std::string& key) {
  std::vector<double> bounds;
  object.read(key, bounds, NumberRange{1e-3, 1e3});
  if (object.failed()) return {};
  object.require(bounds.size() == 2 && bounds[0] <= bounds[1], key,
      fmt::format("{} numbers, or out of order", bounds.size()), "[p10, p90] of measured / predicted");
  return bounds.size() == 2 ? Spread{bounds[0], bounds[1]} : Spread{};
}

template <typename Law> void read_provenance(JsonObject& object, Law& law) {
  object.choice("source", law.source, source_names);
  law.spread = read_spread(object, "spread");
}

HeldOut read_held_out(JsonObject object) {
  HeldOut out;
  object.read("samples", out.samples, IntegerRange{1, 1'000'000'000});
  object.read("mape", out.mape, not_negative);
  object.read("median", out.median, not_negative);
  object.read("p95", out.p95, not_negative);
  object.read("coverage", out.coverage, NumberRange{0, 1});
  return out;
}

LawError read_error_alone(JsonObject object) {
  LawError out;
  object.read("samples", out.samples, IntegerRange{1, 1'000'000'000});
  object.read("mape", out.mape, not_negative);
  object.optional("training_size", out.training_size);
  return out;
}

/// What measurements add to a law: a correction over `names`, the interval with it, how well it forecast.
void read_refinement(JsonObject& object, Refinement& refinement, Spread of_law, std::span<const char* const> names) {
  object.optional("software", refinement.software);
  if (auto held_out = object.optional_object("held_out")) refinement.held_out = read_held_out(*held_out);
  if (auto correction = object.optional_object("correction"))
    refinement.correction = read_correction(*correction, names);
  refinement.spread = of_law;
  if (object.has("corrected_spread")) refinement.spread = read_spread(object, "corrected_spread");
  if (auto width = object.optional_object("width")) refinement.width = read_correction(*width, names);
  const bool corrects = !refinement.correction.empty();
  if (corrects && refinement.use == CorrectionUse::none) refinement.use = CorrectionUse::kernels;
}

/// Provenance of laws that carry corrections over `names`.
template <typename Law> void read_refined(JsonObject& object, Law& law, std::span<const char* const> names) {
  read_provenance(object, law);
  if (auto alone = object.optional_object("held_out_alone")) law.alone = read_error_alone(*alone);
  object.optional_choice("correction_use", law.refinement.use, correction_use_names);
  read_refinement(object, law.refinement, law.spread, names);
}

/// A step knows neither the heads of an attention nor the rows of an operator, and experts are products to it.
void require_kernels_only(JsonObject& object, const Refinement& refinement) {
  object.require(refinement.use != CorrectionUse::kernels_and_steps, "correction_use",
      fmt::format("'{}'", to_text(refinement.use)),
      fmt::format("'{}': steps can correct products alone", to_text(CorrectionUse::kernels)));
}

RooflineLaw read_roofline(JsonObject& object, std::span<const char* const> names) {
  RooflineLaw law;
  object.choice("precision", law.precision, precision_names);
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "compute_flops_per_s", law.compute);
  read_plausible(object, "memory_bytes_per_s", law.memory);
  object.read("softness", law.softness, NumberRange{1, 100});
  object.optional("block_scaled", law.block_scaled);
  object.optional("accumulate", law.accumulate, NumberRange{1, 100});
  object.optional("part_aligned", law.part_aligned, NumberRange{1, 100});
  object.optional("unaligned", law.unaligned, NumberRange{1, 100});
  optional_plausible(object, "cast_t0_s", law.cast_t0, Zero::allowed);
  optional_plausible(object, "cast_bytes_per_s", law.cast, Zero::allowed);
  read_refined(object, law, names);
  return law;
}

void read_terms(std::optional<JsonObject> object, AttentionTerms& terms) {
  if (!object) return;
  object->read("causal_ramp_positions", terms.causal_ramp, NumberRange{0, 1e6});
  object->read("softmax_elements", terms.softmax, NumberRange{0, 1e6});
  object->read("full_rate", terms.full_rate, NumberRange{0.1, 10});
  object->read("traffic", terms.traffic, NumberRange{0, 100});
}

AttentionLaw read_attention(JsonObject object) {
  AttentionLaw law;
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "compute_flops_per_s", law.compute);
  object.read("ramp_positions", law.ramp, NumberRange{0, 1e6});
  object.read("backward_efficiency", law.backward_efficiency, positive_share);
  object.optional("decode", law.decode);
  object.optional("latent", law.latent);
  object.require(!law.latent || law.decode, "latent", "of whole sequences", "decode: true beside it");
  optional_plausible(object, "memory_bytes_per_s", law.memory, Zero::allowed);
  read_terms(object.optional_object("forward"), law.forward);
  read_terms(object.optional_object("backward"), law.backward);
  read_refined(object, law, attention_feature_names);
  require_kernels_only(object, law.refinement);
  return law;
}

EngineAllReduce read_all_reduce(JsonObject& object) {
  EngineAllReduce law;
  object.read("software", law.software);
  object.optional("captured", law.captured);
  object.read("ranks", law.ranks, IntegerRange{2, 1024});
  std::vector<std::vector<double>> rows;
  object.read_rows("points", rows, 2, NumberRange{1e-12, 1e15});
  for (const std::vector<double>& row : rows) {
    object.require(law.points.empty() || row[0] > law.points.back().buffer.value(), "points",
        fmt::format("[{}, {}] is not above the point before", row[0], row[1]), "sizes that rise");
    law.points.push_back({Bytes(row[0]), Seconds(row[1])});
  }
  object.require(law.points.size() >= 2, "points", "fewer than two", "[[bytes of the buffer, seconds], ...]");
  read_provenance(object, law);
  return law;
}

EngineExchange read_exchange(JsonObject& object) {
  EngineExchange law;
  object.read("software", law.software);
  object.choice("kernel", law.kernel, exchange_kernel_names);
  object.choice("direction", law.direction, exchange_direction_names);
  constexpr IntegerRange group{2, 1'000'000};
  object.read("ranks", law.ranks, group);
  law.most_ranks = law.ranks;
  object.optional("most_ranks", law.most_ranks, group);
  object.require(law.most_ranks >= law.ranks, "most_ranks", fmt::format("{} below ranks {}", law.most_ranks, law.ranks),
      "as many or more");
  object.optional("node_ranks", law.node_ranks, IntegerRange{1, 1'000'000});
  object.require(law.node_ranks < law.ranks, "node_ranks",
      fmt::format("{} of {} ranks on a node", law.node_ranks, law.ranks), "fewer, or leave it out");
  object.choice("copies", law.once_per_rank, exchange_copies_names);
  read_plausible(object, "t0_s", law.start, Zero::allowed);
  optional_plausible(object, "per_expert_s", law.per_expert, Zero::allowed);
  optional_plausible(object, "per_row_byte_s", law.per_row_byte, Zero::allowed);
  optional_plausible(object, "per_token_s", law.per_token, Zero::allowed);
  object.optional("blocks", law.most_blocks, IntegerRange{1, 100'000});
  optional_plausible(object, "bandwidth_bytes_per_s", law.rate, Zero::allowed);
  object.optional("softness", law.softness, NumberRange{1, 100});
  object.read("most_tokens", law.most_tokens, NumberRange{1, 1e9});
  read_provenance(object, law);
  if (auto held_out = object.optional_object("held_out")) law.held_out = read_held_out(*held_out);
  return law;
}

ScanLaw read_scan(JsonObject& object) {
  ScanLaw law;
  object.read("function", law.function);
  object.require(find_scan(law.function) != nullptr, "function", fmt::format("no scan '{:.40}'", law.function),
      "ssd, gated_delta, kda, lightning, selective");
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "first_chunk_s", law.first_chunk, Zero::allowed);
  read_plausible(object, "state_s", law.state, Zero::allowed);
  read_plausible(object, "chunk_s", law.chunk, Zero::allowed);
  read_plausible(object, "step_s", law.step, Zero::allowed);
  read_plausible(object, "state_step_s", law.state_step, Zero::allowed);
  object.read("softness", law.softness, NumberRange{0.5, 20});
  constexpr NumberRange sizes{1, 1e6};
  object.read("positions", law.positions, sizes);
  object.read("value_size", law.value_size, sizes);
  object.read("key_size", law.key_size, sizes);
  object.optional("software", law.software);
  read_provenance(object, law);
  return law;
}

MemoryLaw read_memory(JsonObject object) {
  MemoryLaw law;
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "memory_bytes_per_s", law.memory);
  object.optional("op", law.op);
  object.require(law.op.empty() || find_memory_op(law.op) != nullptr, "op", fmt::format("no operator '{}'", law.op),
      name_hint(law.op, names_of(memory_ops(), &MemoryOp::id)));
  read_refined(object, law, memory_feature_names);
  require_kernels_only(object, law.refinement);
  return law;
}

Conditions read_conditions(JsonObject object) {
  Conditions out;
  for (const auto& [key, text] : {std::pair{"device", &out.device}, {"driver", &out.driver}, {"cuda", &out.cuda},
           {"cublas", &out.cublas}, {"nccl", &out.nccl}, {"date", &out.date}, {"launch_mode", &out.launch_mode}})
    object.optional(key, *text);
  for (const auto& [key, number] : {std::pair{"sm_clock_mhz", &out.sm_clock_mhz},
           {"memory_clock_mhz", &out.memory_clock_mhz}, {"power_limit_w", &out.power_limit_w}})
    object.optional(key, *number, not_negative);
  object.optional("sources", out.sources);
  return out;
}

CollectiveCurve read_curve(JsonObject& object) {
  CollectiveCurve curve;
  object.choice("kind", curve.kind, collective_names);
  object.choice("fabric", curve.fabric, fabric_names);
  object.read("ranks", curve.ranks, IntegerRange{2, 1'000'000});
  read_plausible(object, "latency_s", curve.latency, Zero::allowed);
  read_plausible(object, "bandwidth_bytes_per_s", curve.bandwidth);
  optional_plausible(object, "half_bytes", curve.half, Zero::allowed);
  object.optional("p", curve.p, NumberRange{0.01, 10});
  std::vector<std::vector<double>> rows;
  if (object.has("points")) object.read_rows("points", rows, 2, NumberRange{1e-12, 1e15});
  for (const auto& row : rows) {
    const bool rising = curve.points.empty() ||
                        (row[0] > curve.points.back().received.value() && row[1] >= curve.points.back().time.value());
    object.require(rising, "points", fmt::format("[{}, {}] is not above the point before", row[0], row[1]),
        "sizes rise, times do not fall");
    curve.points.push_back({Bytes(row[0]), Seconds(row[1])});
  }
  read_provenance(object, curve);
  object.optional("nodes", curve.nodes, IntegerRange{1, 1'000'000});
  object.require(curve.ranks % curve.nodes == 0, "nodes", fmt::format("{} ranks on {} nodes", curve.ranks, curve.nodes),
      "equal parts");
  object.optional("network", curve.network);
  if (auto held_out = object.optional_object("held_out")) curve.held_out = read_held_out(*held_out);
  rows.clear();
  if (object.has("widths")) object.read_rows("widths", rows, 3, NumberRange{1e-3, 1e15});
  for (const auto& row : rows) {
    const bool rising = curve.widths.empty() || row[0] > curve.widths.back().received.value();
    object.require(rising && row[1] <= row[2], "widths", fmt::format("[{}, {}, {}]", row[0], row[1], row[2]),
        "[received, p10, p90] with rising sizes");
    curve.widths.push_back({Bytes(row[0]), {row[1], row[2]}});
  }
  return curve;
}

CollectiveGrowth read_growth(JsonObject& object) {
  CollectiveGrowth growth;
  object.choice("kind", growth.kind, collective_names);
  object.choice("fabric", growth.fabric, fabric_names);
  object.read("from", growth.from, IntegerRange{2, 1'000'000});
  object.read("to", growth.to, IntegerRange{2, 1'000'000});
  std::vector<std::vector<double>> rows;
  object.read_rows("points", rows, 2, NumberRange{1e-3, 1e15});
  object.require(!rows.empty(), "points", "none", "[[buffer in bytes, time over time], ...]");
  for (const auto& row : rows) {
    object.require(growth.points.empty() || row[0] > growth.points.back().buffer.value(), "points",
        fmt::format("[{}, {}] is not above the point before", row[0], row[1]), "sizes rise");
    growth.points.push_back({Bytes(row[0]), row[1]});
  }
  object.optional("learned_on", growth.learned_on);
  read_provenance(object, growth);
  return growth;
}

ScaleOutLaw read_scale_out(JsonObject& object) {
  ScaleOutLaw law;
  object.choice("fabric", law.fabric, fabric_names);
  object.read("efficiency", law.efficiency, positive_share);
  read_plausible(object, "base_s", law.base, Zero::allowed);
  optional_plausible(object, "per_doubling_s", law.per_doubling, Zero::allowed);
  optional_plausible(object, "per_node_s", law.per_node, Zero::allowed);
  object.optional_choice("transport", law.transport, transport_names);
  object.optional("half_bytes", law.half, Zero::allowed);
  object.optional("exponent", law.exponent, NumberRange{0.05, 2});
  object.optional("ring_hops", law.ring_hops, NumberRange{0, 1000});
  object.optional("cap_bytes_per_s", law.cap, Zero::allowed);
  read_provenance(object, law);
  return law;
}

void read_values(JsonObject object, StepFit& fit) {
  for (const std::string& key : object.keys()) {
    const auto parameter = parse_step_parameter(key, object.where(key));
    object.require(
        parameter.has_value(), key, parameter ? "" : parameter.error().what, parameter ? "" : parameter.error().hint);
    if (!parameter) return;
    const StepParameterRow& row = row_of(*parameter);
    StepValue value{*parameter, 0};
    object.read(key, value.value, NumberRange{row.low, row.high});
    fit.values.push_back(value);
  }
  object.require(fit.values.size() <= most_fitted, "", fmt::format("{} parameters", fit.values.size()),
      fmt::format("at most {}", most_fitted));
}

StepFit read_step_fit(JsonObject& object) {
  StepFit fit;
  object.read("stack", fit.stack);
  object.choice("precision", fit.precision, precision_names);
  object.optional("experts", fit.experts);
  read_values(object.object("parameters"), fit);
  object.read("runs", fit.runs, IntegerRange{1, 1'000'000});
  object.optional("groups", fit.groups, IntegerRange{0, 1'000'000});
  object.optional("left_out", fit.left_out);
  object.read("mape", fit.mape, NumberRange{0, 10});
  object.optional("held_out_mape", fit.held_out_mape, NumberRange{0, 10});
  fit.spread = read_spread(object, "spread");
  if (object.has("pairs") || object.has("pair_spread")) {  // one says nothing without the other
    object.read("pairs", fit.pairs, IntegerRange{1, 1'000'000});
    object.read("pair_spread", fit.pair_spread, NumberRange{0.001, 1});
  }
  object.optional("most_gpus", fit.most_gpus, IntegerRange{1, 1'000'000'000});
  object.read("gpus", fit.gpus);
  object.read("source", fit.source);
  return fit;
}

void read_step_fits(JsonObject& file, std::vector<StepFit>& fits) {
  for (JsonObject& row : file.optional_objects("steps")) {
    StepFit fit = read_step_fit(row);
    const auto same = [&](const StepFit& other) {
      return other.stack == fit.stack && other.precision == fit.precision && other.experts == fit.experts;
    };
    row.require(std::ranges::none_of(fits, same), "stack", fmt::format("a second fit of {}", fit.stack),
        "one per stack, precision and kind of network");
    fits.push_back(std::move(fit));
  }
}

OverlapLaw read_overlap(JsonObject object) {
  OverlapLaw law;
  object.read("compute_slowdown", law.compute_slowdown, NumberRange{0, 10});
  object.optional("move_slowdown", law.move_slowdown, NumberRange{0, 10});
  object.choice("source", law.source, source_names);
  return law;
}

Roof read_roof(JsonObject& object) {
  Roof roof;
  RoofUnit unit = RoofUnit::bytes;
  int regime = 0;
  object.read("of", roof.of);
  object.choice("of", unit, roof_names);
  BytesPerSecond bytes;
  FlopsPerSecond flops;
  if (unit == RoofUnit::bytes) object.read("rate_bytes_per_s", bytes);
  else object.read("rate_flops_per_s", flops);
  roof.rate = unit == RoofUnit::bytes ? bytes.value() : flops.value();
  object.optional_choice("regime", regime, regime_names);
  roof.regime = name_of<int>(regime_names, regime);
  return roof;
}

void read_roofs(JsonObject& file, std::vector<Roof>& roofs) {
  for (JsonObject& row : file.optional_objects("roofs")) {
    Roof roof = read_roof(row);
    const auto same = [&](const Roof& other) { return other.of == roof.of && other.regime == roof.regime; };
    row.require(std::ranges::none_of(roofs, same), "of", fmt::format("a second roof of {}", roof.of),
        "one per resource and regime");
    roofs.push_back(std::move(roof));
  }
}

HostCosts read_host(JsonObject object) {
  HostCosts host;
  object.optional("stream_kernel_s", host.stream_kernel, Zero::allowed);
  object.optional("graph_kernel_s", host.graph_kernel, Zero::allowed);
  object.optional("graph_s", host.graph, Zero::allowed);
  object.optional("event_s", host.event, Zero::allowed);
  return host;
}

/// Laws that only single kernels ask.
void read_kernel_laws(JsonObject& file, Profile& profile) {
  for (JsonObject& row : file.optional_objects("attention_kernels"))
    profile.attention_kernels.push_back(read_attention(row));
  for (JsonObject& row : file.optional_objects("memory_ops")) profile.memory_ops.push_back(read_memory(row));
  for (JsonObject& row : file.optional_objects("moe")) {
    profile.moe.push_back(read_roofline(row, moe_feature_names));
    require_kernels_only(row, profile.moe.back().refinement);
  }
  for (JsonObject& row : file.optional_objects("engine_all_reduces"))
    profile.engine_all_reduces.push_back(read_all_reduce(row));
  for (JsonObject& row : file.optional_objects("engine_exchanges"))
    profile.engine_exchanges.push_back(read_exchange(row));
}

/// The refinement of a law whose row stands in the other file.
template <typename Law> void add_refinement(JsonObject& row, Law& law, std::span<const char* const> names) {
  row.require(
      law.refinement.correction.empty(), "correction", "the law has one in the profile's own file", "one of the two");
  read_refinement(row, law.refinement, law.spread, names);
}

RooflineLaw* named_gemm(JsonObject& row, Profile& profile) {
  Precision precision = Precision::bf16;
  bool block_scaled = false;
  row.choice("precision", precision, precision_names);
  row.optional("block_scaled", block_scaled);
  if (row.failed()) return nullptr;
  const auto found = std::ranges::find_if(profile.gemm,
      [&](const RooflineLaw& law) { return law.precision == precision && law.block_scaled == block_scaled; });
  row.require(found != profile.gemm.end(), "precision", fmt::format("{} has no law of this precision", profile.id),
      "a precision, block_scaled or not, of its list gemm");
  return found == profile.gemm.end() ? nullptr : &*found;
}

}  // namespace

const char* to_text(CorrectionUse use) {
  return use == CorrectionUse::none ? "none" : name_of<CorrectionUse>(correction_use_names, use);
}
std::string to_text(const LawError& error) {
  return fmt::format("off by {:.1f} % on {} held-out samples{}", 100 * error.mape, error.samples,
      error.training_size ? " of training size" : "");
}

const char* to_text(Source source) { return name_of<Source>(source_names, source); }
const char* to_text(CollectiveKind kind) { return name_of<CollectiveKind>(collective_names, kind); }

Expected<Profile> read_profile(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  Profile profile;
  file.read("id", profile.id);
  file.read("name", profile.name);
  file.optional("aliases", profile.aliases);
  file.read("gpu", profile.gpu);
  file.read("context", profile.context);
  int regime = 0;
  file.choice("regime", regime, regime_names);
  profile.regime = name_of<int>(regime_names, regime);
  file.read("sustained_slowdown", profile.sustained_slowdown, slowdown);
  profile.step_spread = read_spread(file, "step_spread");
  file.read("step_spread_source", profile.step_spread_source);
  if (auto conditions = file.optional_object("conditions")) profile.conditions = read_conditions(*conditions);
  file.optional("multiprocessors", profile.units.multiprocessors, IntegerRange{0, 100'000});
  optional_plausible(file, "l2_bytes", profile.units.l2, Zero::allowed);
  for (JsonObject& row : file.objects("gemm")) {
    const RooflineLaw law = read_roofline(row, gemm_feature_names);
    row.require(find_gemm(profile, law.precision, law.block_scaled) == nullptr, "precision",
        "a second law of this precision", "one per precision");
    profile.gemm.push_back(law);
  }
  read_kernel_laws(file, profile);
  profile.attention = read_attention(file.object("attention"));
  for (JsonObject& row : file.optional_objects("scans")) profile.scans.push_back(read_scan(row));
  profile.memory = read_memory(file.object("memory"));
  for (JsonObject& row : file.objects("collectives")) profile.collectives.push_back(read_curve(row));
  for (JsonObject& row : file.optional_objects("growth")) profile.growth.push_back(read_growth(row));
  for (JsonObject& row : file.objects("scale_out")) profile.scale_out.push_back(read_scale_out(row));
  profile.overlap = read_overlap(file.object("overlap"));
  read_roofs(file, profile.roofs);
  read_step_fits(file, profile.steps);
  if (auto host = file.optional_object("host")) profile.host = read_host(*host);
  file.require(!profile.gemm.empty(), "gemm", "no law", "at least the one of bf16 or fp16");
  return file.finish(profile);
}

Expected<Profile> with_kernel_part(Profile profile, const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  std::string id;
  file.read("id", id);
  file.require(file.failed() || id == profile.id, "id", fmt::format("'{:.60}'", id), fmt::format("'{}'", profile.id));
  for (JsonObject& row : file.optional_objects("gemm"))
    if (RooflineLaw* law = named_gemm(row, profile)) add_refinement(row, *law, gemm_feature_names);
  if (auto row = file.optional_object("attention")) add_refinement(*row, profile.attention, attention_feature_names);
  if (auto row = file.optional_object("memory")) add_refinement(*row, profile.memory, memory_feature_names);
  read_kernel_laws(file, profile);
  return file.finish(std::move(profile));
}

}  // namespace stepcast
