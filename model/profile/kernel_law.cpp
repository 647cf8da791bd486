#include "model/profile/kernel_law.h"

#include <algorithm>
#include <cmath>

#include "model/profile/kernel_features.h"

namespace stepcast {
namespace {

/// Five matrix products against two: recomputed scores, dV, dP, dQ, dK (arXiv 2205.14135, section 3).
constexpr double backward_products = 2.5;

Bound bound_of(Seconds launch, Seconds compute, Seconds memory) {
  if (launch > compute && launch > memory) return Bound::launch;
  return compute < memory ? Bound::memory : Bound::compute;
}

/// Correction and interval of a base time, for features that every refinement of this family shares.
void refine(KernelTime& out, const Refinement& refinement, std::span<const float> features) {
  const Correction& bounds = refinement.correction.empty() ? refinement.width : refinement.correction;
  const double outside = distance_outside(bounds, features);
  out.extrapolated = outside > 0.01;
  out.time = out.time * std::exp(faded(sum_at(refinement.correction, features), outside));
  const double width = std::exp(faded(sum_at(refinement.width, features), outside)) * (1 + outside / 2);
  out.spread = {std::pow(refinement.spread.p10, width), std::pow(refinement.spread.p90, width)};
}

bool refined(const Refinement& r, const GpuUnits& units) {
  return units.multiprocessors > 0 && !(r.correction.empty() && r.width.empty());
}

Seconds cast_time(const RooflineLaw& law, const GemmQuery& gemm) {
  if (!gemm.casts_x) return Seconds(0);
  return law.cast_t0 + cast_bytes_of(gemm) / (law.cast.value() > 0 ? law.cast : law.memory);
}

/// Base time, bound, interval and correction: the same for every family.
template <typename Law, typename Query, typename Features>
KernelTime time_of(const Law& law, const GpuUnits& units, const Query& query, Seconds compute, Seconds memory, Features features) {
  KernelTime out;
  out.time = base_time(law, query);
  out.spread = law.spread;
  out.source = law.source;
  out.bound = bound_of(law.t0, compute, memory);
  out.behind = &law.refinement;
  if (refined(law.refinement, units)) refine(out, law.refinement, features());
  return out;
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

Seconds base_time(const RooflineLaw& law, const GemmQuery& gemm) {
  return roofline_time(law, flops_of(gemm), bytes_of(gemm)) + cast_time(law, gemm);
}

Seconds base_time(const AttentionLaw& law, const AttentionQuery& a) {
  const Flops flops = forward_flops_of(a);
  const Seconds memory = law.memory.value() > 0 ? bytes_of(a) / law.memory : Seconds(0);
  if (law.decode) return law.t0 + std::max(memory, flops / law.compute) + std::min(memory, flops / law.compute) * 0.5;
  const Seconds forward = attention_time(law, flops, a.queries, false) + memory * 0.5;
  if (a.pass == AttentionPass::forward || a.pass == AttentionPass::decode) return forward;
  const Seconds backward = attention_time(law, flops, a.queries, true) + memory * (0.5 * backward_products);
  return a.pass == AttentionPass::backward ? backward : forward + backward;
}

Seconds base_time(const RooflineLaw& law, const MoeQuery& moe) { return roofline_time(law, flops_of(moe), bytes_of(moe)); }
Seconds base_time(const MemoryLaw& law, const MemoryQuery& memory) { return memory_time(law, bytes_of(memory)); }

KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm) {
  KernelTime out = time_of(law, units, gemm, flops_of(gemm) / law.compute, bytes_of(gemm) / law.memory,
                           [&] { return gemm_features(gemm, law, units); });
  out.cast = cast_time(law, gemm);
  return out;
}

KernelTime attention_time(const AttentionLaw& law, const GpuUnits& units, const AttentionQuery& a) {
  const Seconds memory = law.memory.value() > 0 ? bytes_of(a) / law.memory : Seconds(0);
  return time_of(law, units, a, forward_flops_of(a) / law.compute, memory, [&] { return attention_features(a, law, units); });
}

KernelTime moe_time(const RooflineLaw& law, const GpuUnits& units, const MoeQuery& moe) {
  return time_of(law, units, moe, flops_of(moe) / law.compute, bytes_of(moe) / law.memory,
                 [&] { return moe_features(moe, law, units); });
}

KernelTime memory_time(const MemoryLaw& law, const GpuUnits& units, const MemoryQuery& memory) {
  return time_of(law, units, memory, Seconds(0), bytes_of(memory) / law.memory, [&] { return memory_features(memory, units); });
}

std::optional<KernelTime> gemm_time(const Profile& profile, const GemmQuery& gemm) {
  const RooflineLaw* law = find_gemm(profile, gemm.precision, gemm.block_scaled);
  if (law == nullptr) return std::nullopt;
  return gemm_time(*law, profile.units, gemm);
}

std::optional<KernelTime> attention_time(const Profile& profile, const AttentionQuery& a, std::string_view software) {
  const bool decode = a.pass == AttentionPass::decode;
  const auto fits = [&](const AttentionLaw& law) {
    return law.decode == decode && (software.empty() || law.refinement.software == software);
  };
  const AttentionLaw* best = fits(profile.attention) ? &profile.attention : nullptr;
  for (const AttentionLaw& law : profile.attention_kernels)
    if (fits(law) && (best == nullptr || law.source < best->source)) best = &law;
  if (best == nullptr) return std::nullopt;
  return attention_time(*best, profile.units, a);
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
