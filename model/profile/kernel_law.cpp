#include "model/profile/kernel_law.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "model/profile/kernel_features.h"

namespace stepcast {
namespace {

/// Five matrix products against two: recomputed scores, dV, dP, dQ, dK (arXiv 2205.14135, section 3).
constexpr double backward_products = 2.5;

/// (a^p + b^p)^(1/p) for a, b >= 0. It is evaluated some hundred times per forecast, so the usual exponents avoid
/// std::pow.
double soft_maximum(double a, double b, double p) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (high <= 0) return 0;
  const double r = low / high;
  if (p == 1) return high + low;
  if (p == 2) return high * std::sqrt(1 + r * r);
  if (p == 1.5) {
    const double sum = 1 + r * std::sqrt(r);
    return high * std::cbrt(sum * sum);
  }
  if (p == 3) return high * std::cbrt(1 + r * r * r);
  return high * std::pow(1 + std::pow(r, p), 1 / p);
}

Bound bound_of(Seconds launch, Seconds compute, Seconds memory) {
  if (launch > compute && launch > memory) return Bound::launch;
  return compute < memory ? Bound::memory : Bound::compute;
}

/// Correction and interval of a base time, for features that every refinement of this family shares.
void refine(KernelTime& out, const Refinement& refinement, std::span<const float> features, bool spread) {
  const Correction& bounds = refinement.correction.empty() ? refinement.width : refinement.correction;
  const double outside = distance_outside(bounds, features);
  out.extrapolated = outside > 0.01;
  out.time = out.time * std::exp(faded(sum_at(refinement.correction, features), outside));
  if (spread) {
    const double width = std::exp(faded(sum_at(refinement.width, features), outside)) * (1 + outside / 2);
    out.spread = {std::pow(refinement.spread.p10, width), std::pow(refinement.spread.p90, width)};
  }
  out.corrected = !refinement.correction.empty();
  if (out.corrected) out.error = {refinement.held_out.mape, refinement.held_out.samples};
}

bool refined(const Refinement& r, const GpuUnits& units) {
  return units.multiprocessors > 0 && !(r.correction.empty() && r.width.empty());
}

Seconds cast_time(const RooflineLaw& law, const GemmQuery& gemm) {
  if (!gemm.casts_x) return Seconds(0);
  return law.cast_t0 + cast_bytes_of(gemm) / (law.cast.value() > 0 ? law.cast : law.memory);
}

/// Heads of this size are those that a law's rate is of.
constexpr double usual_head = 128;

Seconds attention_base(const AttentionLaw& law, const StepAttention& core) {
  assert(law.compute.value() > 0 && core.sequence > 0);
  const AttentionTerms& terms = core.backward ? law.backward : law.forward;
  const double ramp = law.ramp + (core.causal ? terms.causal_ramp : 0);
  double longer = 1 + ramp / core.sequence;
  if (terms.softmax > 0 && core.head_dim > 0)
    longer *= (1 + terms.softmax / core.head_dim) / (1 + terms.softmax / usual_head);
  if (!core.causal) longer /= terms.full_rate;
  if (core.backward) longer *= backward_products / law.backward_efficiency;
  const Seconds moving = law.memory.value() > 0 ? core.bytes / law.memory * terms.traffic : Seconds(0);
  return law.t0 + core.flops / law.compute * longer + moving;
}

Seconds memory_base(const MemoryLaw& law, Bytes bytes) {
  assert(law.memory.value() > 0);
  return law.t0 + bytes / law.memory;
}

/// The law alone: what steps take, and what a correction starts from.
template <typename Law> KernelTime time_alone(const Law& law, Seconds base, Seconds compute, Seconds memory) {
  KernelTime out;
  out.time = base;
  out.spread = law.spread;
  out.source = law.source;
  out.bound = bound_of(law.t0, compute, memory);
  out.error = out.alone = error_alone(law.alone, law.refinement);
  out.behind = &law.refinement;
  return out;
}

/// With correction and interval of the features: the same for every family.
template <typename Law, typename Features>
KernelTime corrected(KernelTime out, const Law& law, const GpuUnits& units, Features features, bool spread = true) {
  if (refined(law.refinement, units)) refine(out, law.refinement, features(), spread);
  return out;
}

/// What of a load's bytes belongs to an accumulator. Loads count 1.5 of its size, as laws without a term of their own
/// want it (dataflow/lower/fuse/work.cpp); fp32 is read and written whole. Sums in two bytes count as any load: nobody
/// timed them.
struct AccumulatorShare {
  Bytes counted, moved;
};
AccumulatorShare accumulator_of(const GemmQuery& gemm, Bytes bytes) {
  if (gemm.layout != GemmLayout::nt) return {};
  const double elements = gemm.batch * gemm.m * gemm.n;
  const double operands = gemm.batch * operand_bytes(gemm.precision) * (gemm.m * gemm.k + gemm.n * gemm.k);
  constexpr double counted = 1.5, moved = 2, least_bytes = 4;  // 1.5 x 4 bytes in fp32, 1.5 x 2 in bf16
  const Bytes result(bytes.value() - operands);
  if (result.value() < least_bytes * elements) return {};
  return {result, result * (moved / counted)};
}

/// How much longer the compute term is where rows begin at odd addresses: kernels then copy 8, 4 or 2 bytes at a time.
double misaligned_factor(const RooflineLaw& law, const GemmQuery& gemm) {
  if (law.part_aligned <= 0 && law.unaligned <= 0) return 1;
  const double aligned = row_alignment(gemm);
  constexpr double whole_vector = 16, word = 4;
  if (aligned >= whole_vector) return 1;
  const double factor = aligned >= word || law.unaligned <= 0 ? law.part_aligned : law.unaligned;
  return std::max(1.0, factor);
}

Seconds product_base(const RooflineLaw& law, const GemmQuery& gemm, const StepLoad& load) {
  const AccumulatorShare share = law.accumulate > 0 ? accumulator_of(gemm, load.bytes) : AccumulatorShare{};
  return roofline_time(law, load.flops * misaligned_factor(law, gemm), load.bytes - share.counted, share.moved);
}

KernelTime product_alone(const RooflineLaw& law, const GemmQuery& gemm, const StepLoad& load) {
  const Seconds cast = cast_time(law, gemm);
  KernelTime out =
      time_alone(law, product_base(law, gemm, load) + cast, load.flops / law.compute, load.bytes / law.memory);
  out.cast = cast;
  return out;
}

KernelTime product_corrected(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm, Bytes moved) {
  return corrected(
      product_alone(law, gemm, {flops_of(gemm), moved}), law, units, [&] { return gemm_features(gemm, law, units); });
}

}  // namespace

const char* to_text(Bound bound) {
  switch (bound) {
    case Bound::launch: return "launch";
    case Bound::compute: return "compute";
    case Bound::memory: return "memory";
  }
  return "?";
}

Seconds roofline_time(const RooflineLaw& law, Flops flops, Bytes bytes, Bytes accumulator) {
  assert(law.compute.value() > 0 && law.memory.value() > 0 && law.softness >= 1);
  const double compute = (flops / law.compute).value(), memory = (bytes / law.memory).value();
  const double product = soft_maximum(compute, memory, law.softness);
  if (accumulator.value() <= 0) return law.t0 + Seconds(product);
  return law.t0 + Seconds(soft_maximum(product, (accumulator / law.memory).value(), law.accumulate));
}

Seconds base_time(const RooflineLaw& law, const GemmQuery& gemm) {
  return product_base(law, gemm, {flops_of(gemm), bytes_of(gemm)}) + cast_time(law, gemm);
}

Seconds base_time(const AttentionLaw& law, const AttentionQuery& a) {
  const Flops flops = forward_flops_of(a);
  const Seconds memory = law.memory.value() > 0 ? bytes_of(a) / law.memory : Seconds(0);
  if (law.decode) return law.t0 + std::max(memory, flops / law.compute) + std::min(memory, flops / law.compute) * 0.5;
  const Seconds forward = attention_base(law, {flops, a.queries, a.head_dim, bytes_of(a), a.causal, false});
  if (a.pass == AttentionPass::forward || a.pass == AttentionPass::decode) return forward;
  const Seconds backward = attention_base(law, {flops, a.queries, a.head_dim, bytes_of(a), a.causal, true});
  return a.pass == AttentionPass::backward ? backward : forward + backward;
}

Seconds base_time(const RooflineLaw& law, const MoeQuery& moe) {
  return roofline_time(law, flops_of(moe), bytes_of(moe));
}
Seconds base_time(const MemoryLaw& law, const MemoryQuery& memory) { return memory_base(law, bytes_of(memory)); }

LawError error_alone(const LawError& kept, const Refinement& refinement) {
  const bool of_the_law = refinement.correction.empty() && refinement.use == CorrectionUse::none;
  if (of_the_law && refinement.held_out.samples > 0) return {refinement.held_out.mape, refinement.held_out.samples};
  return kept;
}

KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm) {
  return gemm_time(law, units, gemm, bytes_of(gemm));
}

// 384 rows of zeros and numbers are 512 rows: no kernel has to take longer than one of more rows. DeepGEMM's tables on
// H100 and H200 say otherwise by more than tiles explain: 3 % of the shapes take 1.25 to 3 times as long as the same
// weights with more rows. The mean held-out error on H100 is 8.2 for 8.5 % without the bound in folds of single rows,
// and 8.2 for 8.0 % in folds of weights: some of these shapes are slow again and again. The catalogue's two laws were
// marked by hand, for the sake of rows in between; a new fit (calibrate/fit/fit_law.cpp) would not mark that of H100.
KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm, Bytes moved) {
  KernelTime out = product_corrected(law, units, gemm, moved);
  if (!law.refinement.bounded_by_padding) return out;
  constexpr double more_rows[] = {1.125, 1.25, 1.5, 2}, tile = 16;
  for (const double factor : more_rows) {
    GemmQuery padded = gemm;
    padded.m = std::ceil(gemm.m * factor / tile) * tile;
    const KernelTime time = product_corrected(law, units, padded, moved + (bytes_of(padded) - bytes_of(gemm)));
    if (time.time < out.time) out = time;
  }
  return out;
}

KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm, const StepLoad& load) {
  KernelTime out = product_alone(law, gemm, load);
  if (law.refinement.use != CorrectionUse::kernels_and_steps) return out;
  return corrected(std::move(out), law, units, [&] { return gemm_features(gemm, law, units); });
}

KernelTime attention_time(const AttentionLaw& law, const GpuUnits& units, const AttentionQuery& a, bool spread) {
  const Seconds memory = law.memory.value() > 0 ? bytes_of(a) / law.memory : Seconds(0);
  return corrected(
      time_alone(law, base_time(law, a), forward_flops_of(a) / law.compute, memory), law, units,
      [&] { return attention_features(a, law, units); }, spread);
}

KernelTime attention_time(const AttentionLaw& law, const StepAttention& core) {
  return time_alone(law, attention_base(law, core), core.flops / law.compute, Seconds(0));
}

KernelTime moe_time(const RooflineLaw& law, const GpuUnits& units, const MoeQuery& moe) {
  return corrected(time_alone(law, base_time(law, moe), flops_of(moe) / law.compute, bytes_of(moe) / law.memory), law,
      units, [&] { return moe_features(moe, law, units); });
}

KernelTime memory_time(const MemoryLaw& law, const GpuUnits& units, const MemoryQuery& memory) {
  return corrected(memory_time(law, bytes_of(memory)), law, units, [&] { return memory_features(memory, units); });
}

KernelTime memory_time(const MemoryLaw& law, Bytes bytes) {
  return time_alone(law, memory_base(law, bytes), Seconds(0), bytes / law.memory);
}

std::optional<KernelTime> gemm_time(const Profile& profile, const GemmQuery& gemm) {
  const RooflineLaw* law = find_gemm(profile, gemm.precision, gemm.block_scaled);
  if (law == nullptr) return std::nullopt;
  return gemm_time(*law, profile.units, gemm);
}

std::optional<KernelTime> attention_time(
    const Profile& profile, const AttentionQuery& a, std::string_view software, bool spread) {
  const bool decode = a.pass == AttentionPass::decode;
  const auto fits = [&](const AttentionLaw& law) {
    return law.decode == decode && law.latent == is_latent(a) &&
           (software.empty() || law.refinement.software == software);
  };
  const AttentionLaw* best = fits(profile.attention) ? &profile.attention : nullptr;
  for (const AttentionLaw& law : profile.attention_kernels)
    if (fits(law) && (best == nullptr || law.source < best->source)) best = &law;
  if (best == nullptr) return std::nullopt;
  return attention_time(*best, profile.units, a, spread);
}

std::optional<KernelTime> moe_time(const Profile& profile, const MoeQuery& moe) {
  for (const RooflineLaw& law : profile.moe)
    if (law.precision == moe.precision) return moe_time(law, profile.units, moe);
  return std::nullopt;
}

KernelTime memory_time(const Profile& profile, const MemoryQuery& memory) {
  for (const MemoryLaw& law : profile.memory_ops)
    if (law.op == memory.op->id) return memory_time(law, profile.units, memory);
  return memory_time(profile.memory, profile.units, memory);
}

}  // namespace stepcast
