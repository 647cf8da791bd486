// The law across nodes, and which law of a profile speaks of what.
#include <cassert>
#include <cmath>

#include "model/profile/profile.h"

namespace stepcast {

Seconds scale_out_time(
    const ScaleOutLaw& law, Bytes received, std::int64_t nodes, double members_per_node, BytesPerSecond port) {
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
