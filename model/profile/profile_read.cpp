// Profiles from JSON: one row per law, base units in the keys.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "model/base/large_value.h"
#include "model/machine/plausible.h"
#include "model/profile/kernel_features.h"
#include "model/profile/read_laws.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Conditions)

LARGE_VALUE_MEMBERS(Profile)
namespace {

constexpr NumberRange not_negative{0, 1e9};
constexpr NumberRange slowdown{1, 10};

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
  for (JsonObject& row : file.optional_objects("scans")) profile.scans.push_back(read_scan(row));
  for (JsonObject& row : file.optional_objects("hyper_connections"))
    profile.hyper_connections.push_back(read_hyper_connection(row));
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
