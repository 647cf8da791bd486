// Laws of kernels from JSON: products, attention, scans and what is bound by memory.
#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/machine/plausible.h"
#include "model/network/operator.h"
#include "model/profile/kernel_features.h"
#include "model/profile/read_laws.h"
#include "model/profile/scan_law.h"

namespace stepcast {
namespace {

constexpr NumberRange errors{0, 1e9};

}  // namespace

Spread read_spread(JsonObject& object, const std::string& key) {
  std::vector<double> bounds;
  object.read(key, bounds, NumberRange{1e-3, 1e3});
  if (object.failed()) return {};
  object.require(bounds.size() == 2 && bounds[0] <= bounds[1], key,
      fmt::format("{} numbers, or out of order", bounds.size()), "[p10, p90] of measured / predicted");
  return bounds.size() == 2 ? Spread{bounds[0], bounds[1]} : Spread{};
}

HeldOut read_held_out(JsonObject object) {
  HeldOut out;
  object.read("samples", out.samples, IntegerRange{1, 1'000'000'000});
  object.read("mape", out.mape, errors);
  object.read("median", out.median, errors);
  object.read("p95", out.p95, errors);
  object.read("coverage", out.coverage, NumberRange{0, 1});
  return out;
}

namespace {

LawError read_error_alone(JsonObject object) {
  LawError out;
  object.read("samples", out.samples, IntegerRange{1, 1'000'000'000});
  object.read("mape", out.mape, errors);
  object.optional("training_size", out.training_size);
  return out;
}

}  // namespace

void read_refinement(JsonObject& object, Refinement& refinement, Spread of_law, std::span<const char* const> names) {
  object.optional("software", refinement.software);
  if (auto held_out = object.optional_object("held_out")) refinement.held_out = read_held_out(*held_out);
  if (auto correction = object.optional_object("correction"))
    refinement.correction = read_correction(*correction, names);
  refinement.spread = of_law;
  if (object.has("corrected_spread")) refinement.spread = read_spread(object, "corrected_spread");
  if (names.data() == gemm_feature_names.data())  // rows are a product's alone
    object.optional("bounded_by_padding", refinement.bounded_by_padding);
  if (auto width = object.optional_object("width")) refinement.width = read_correction(*width, names);
  const bool corrects = !refinement.correction.empty();
  if (corrects && refinement.use == CorrectionUse::none) refinement.use = CorrectionUse::kernels;
}

namespace {

/// Provenance of laws that carry corrections over `names`.
template <typename Law> void read_refined(JsonObject& object, Law& law, std::span<const char* const> names) {
  read_provenance(object, law);
  if (auto alone = object.optional_object("held_out_alone")) law.alone = read_error_alone(*alone);
  object.optional_choice("correction_use", law.refinement.use, correction_use_names);
  read_refinement(object, law.refinement, law.spread, names);
}

}  // namespace

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

namespace {

void read_terms(std::optional<JsonObject> object, AttentionTerms& terms) {
  if (!object) return;
  object->read("causal_ramp_positions", terms.causal_ramp, NumberRange{0, 1e6});
  object->read("softmax_elements", terms.softmax, NumberRange{0, 1e6});
  object->read("full_rate", terms.full_rate, NumberRange{0.1, 10});
  object->read("traffic", terms.traffic, NumberRange{0, 100});
}

}  // namespace

AttentionLaw read_attention(JsonObject object) {
  AttentionLaw law;
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "compute_flops_per_s", law.compute);
  object.read("ramp_positions", law.ramp, NumberRange{0, 1e6});
  object.read("backward_efficiency", law.backward_efficiency, NumberRange{1e-3, 1});
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

const std::vector<std::string>& kernel_software() {
  static const std::vector<std::string> names = {"vllm", "trtllm", "sglang", "pytorch"};
  return names;
}

namespace {

/// "" is nobody's in particular.
void read_kernels(JsonObject& object, std::string& kernels) {
  object.optional("kernels", kernels);
  object.require(kernels.empty() || contains(kernel_software(), kernels), "kernels",
      fmt::format("no engine's kernels are '{:.40}'", kernels), name_hint(kernels, kernel_software()));
}

}  // namespace

ScanLaw read_scan(JsonObject& object) {
  ScanLaw law;
  object.read("function", law.function);
  object.require(find_scan(law.function) != nullptr || names_convolution(law.function), "function",
      fmt::format("no scan '{:.40}'", law.function), "ssd, gated_delta, kda, lightning, selective; conv, conv_update");
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
  read_kernels(object, law.kernels);
  object.optional("over_learned", law.over_learned, NumberRange{1e-3, 1e3});
  read_provenance(object, law);
  read_refinement(object, law.refinement, law.spread, scan_feature_names);
  return law;
}

HyperConnectionLaw read_hyper_connection(JsonObject& object) {
  HyperConnectionLaw law;
  object.choice("part", law.part, hyper_connection_names);
  object.optional("software", law.software);
  read_kernels(object, law.kernels);
  read_plausible(object, "t0_s", law.t0, Zero::allowed);
  read_plausible(object, "per_row_byte_s", law.per_row_byte, Zero::allowed);
  read_plausible(object, "near_bytes", law.near_bytes, Zero::allowed);
  read_plausible(object, "near_bytes_per_s", law.near_rate);
  read_plausible(object, "memory_bytes_per_s", law.memory);
  object.read("softness", law.softness, NumberRange{0.5, 20});
  read_provenance(object, law);
  if (auto held_out = object.optional_object("held_out")) law.held_out = read_held_out(*held_out);
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

}  // namespace stepcast
