// Kernel rate laws. They are evaluated some hundred times per forecast, so the usual exponents avoid std::pow.
#include <cassert>
#include <cmath>

#include "model/profile/profile.h"

namespace stepcast {
namespace {

/// (a^p + b^p)^(1/p) for a, b >= 0.
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

}  // namespace

Seconds roofline_time(const RooflineLaw& law, Flops flops, Bytes bytes) {
  assert(law.compute.value() > 0 && law.memory.value() > 0 && law.softness >= 1);
  const double compute = (flops / law.compute).value(), memory = (bytes / law.memory).value();
  return law.t0 + Seconds(soft_maximum(compute, memory, law.softness));
}

Seconds attention_time(const AttentionLaw& law, Flops causal_flops, double sequence, bool backward) {
  assert(law.compute.value() > 0 && sequence > 0);
  const Seconds forward = causal_flops / law.compute * (1 + law.ramp / sequence);
  // Five matrix products against two: recomputed scores, dV, dP, dQ, dK (arXiv 2205.14135, section 3).
  constexpr double backward_products = 2.5;
  return law.t0 + (backward ? forward * (backward_products / law.backward_efficiency) : forward);
}

Seconds memory_time(const MemoryLaw& law, Bytes bytes) {
  assert(law.memory.value() > 0);
  return law.t0 + bytes / law.memory;
}

Seconds scale_out_time(const ScaleOutLaw& law, Bytes received, std::int64_t nodes, double members_per_node,
                       BytesPerSecond port) {
  assert(nodes >= 2 && members_per_node > 0 && port.value() > 0 && law.efficiency > 0);
  const double n = static_cast<double>(nodes);
  const Seconds latency = law.base + law.per_doubling * std::log2(n) + law.per_node * n;
  return latency + received / (port * (members_per_node * law.efficiency));
}

const RooflineLaw* find_gemm(const Profile& profile, Precision precision, bool block_scaled) {
  for (const RooflineLaw& law : profile.gemm)
    if (law.precision == precision && law.block_scaled == block_scaled) return &law;
  return nullptr;
}

const ScaleOutLaw* find_scale_out(const Profile& profile, FabricKind fabric) {
  for (const ScaleOutLaw& law : profile.scale_out)
    if (law.fabric == fabric) return &law;
  return nullptr;
}

}  // namespace stepcast
