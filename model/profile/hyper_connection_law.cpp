#include "model/profile/hyper_connection_law.h"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

// vLLM 0.24.0 on H100 (ai-dynamo/aiconfigurator 095f58a, mhc_module). Fits on five other GPUs start about as fast, and
// their rates follow the memory.
constexpr double usual_memory = 2.68e12;  // the rate of H100's law of memory-bound kernels
constexpr Spread mixing_elsewhere{0.7, 1.5};

const HyperConnectionLaw& usual_law(HyperConnectionPart part) {
  static const HyperConnectionLaw pre{HyperConnectionPart::pre, Seconds(6.79e-6), Seconds(6.96e-11), Bytes(196e6),
      BytesPerSecond(2.59e12), BytesPerSecond(2.99e12), 1.56, Source::transferred, mixing_elsewhere};
  static const HyperConnectionLaw post{HyperConnectionPart::post, Seconds(1.72e-6), Seconds(4.27e-11), Bytes(12.4e6),
      BytesPerSecond(46.8e12), BytesPerSecond(3.01e12), 0.723, Source::transferred, mixing_elsewhere};
  return part == HyperConnectionPart::pre ? pre : post;
}

/// What is usual, at the rate of this GPU's memory.
HyperConnectionLaw transferred_law(const Profile& profile, HyperConnectionPart part) {
  HyperConnectionLaw law = usual_law(part);
  const double faster = profile.memory.memory.value() > 0 ? profile.memory.memory.value() / usual_memory : 1;
  law.near_rate = law.near_rate * faster, law.memory = law.memory * faster;
  return law;
}

/// That of the engine's own kernels, else the one that is nobody's in particular; null where there is neither.
const HyperConnectionLaw* timed_law(const Profile& profile, HyperConnectionPart part, std::string_view kernels) {
  const HyperConnectionLaw* plain = nullptr;
  for (const HyperConnectionLaw& law : profile.hyper_connections) {
    if (law.part != part) continue;
    if (law.kernels == kernels) return &law;
    if (law.kernels.empty() && plain == nullptr) plain = &law;
  }
  return plain;
}

HyperConnectionLaw mixing_law(const Profile& profile, HyperConnectionPart part, std::string_view kernels) {
  const HyperConnectionLaw* own = timed_law(profile, part, kernels);
  return own != nullptr ? *own : transferred_law(profile, part);
}

Seconds mixing_start(const HyperConnectionLaw& law, const HyperConnectionShape& shape) {
  return law.t0 + law.per_row_byte * (shape.streams * shape.width * shape.element_bytes);
}

}  // namespace

const char* to_text(HyperConnectionPart part) { return part == HyperConnectionPart::pre ? "pre" : "post"; }

Bytes bytes_of(const HyperConnectionShape& shape) {
  return Bytes(shape.positions * (2 * shape.streams + 1) * shape.width * shape.element_bytes);
}

KernelTime hyper_connection_time(const HyperConnectionLaw& law, const HyperConnectionShape& shape) {
  const Bytes all = bytes_of(shape), near = std::min(all, law.near_bytes);
  const Seconds start = mixing_start(law, shape), moving = near / law.near_rate + (all - near) / law.memory;
  KernelTime out;
  out.time = Seconds(
      std::pow(std::pow(start.value(), law.softness) + std::pow(moving.value(), law.softness), 1 / law.softness));
  out.source = law.source;
  out.spread = law.spread;
  out.bound = start > moving ? Bound::launch : Bound::memory;
  return out;
}

KernelTime hyper_connection_time(const Profile& profile, const HyperConnectionShape& shape, std::string_view kernels) {
  return hyper_connection_time(mixing_law(profile, shape.part, kernels), shape);
}

Seconds hyper_connection_start(const Profile& profile, const HyperConnectionShape& shape, std::string_view kernels) {
  return mixing_start(mixing_law(profile, shape.part, kernels), shape);
}

}  // namespace stepcast
