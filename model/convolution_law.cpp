#include "model/convolution_law.h"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double most_convolved_words = 8;
/// Positions of a block of the Triton kernel (vllm-project/vllm model_executor/layers/mamba/ops/causal_conv1d.py,
/// BLOCK_M): shorter sequences leave a part of it idle.
constexpr double convolved_block = 8;
constexpr double convolved_bytes = 2;

// vLLM 0.24.0 on H100 (ai-dynamo/aiconfigurator 095f58a, gdn_perf), by the number of multiprocessors: the kernels keep
// these busy and leave the memory of H100, H200 and B200 idle for a third to two thirds of the time.
constexpr double convolution_units = 132;
constexpr Spread convolution_elsewhere{0.7, 1.5};

const ScanLaw& usual_convolution(std::string_view function) {
  static const ScanLaw prompts{std::string(prompt_convolution), Seconds(2.05e-6), Seconds(1.78e-6), Seconds(3.38e-10),
      Seconds(2.37e-10), {}, {}, 1.59, 1, 128, 4, Source::transferred, convolution_elsewhere};
  static const ScanLaw words{std::string(word_convolution), Seconds(1.93e-6), {}, Seconds(6.34e-10), {}, {}, {}, 1.23,
      1, 128, 4, Source::transferred, convolution_elsewhere};
  return function == prompt_convolution ? prompts : words;
}

ScanLaw transferred_convolution(const Profile& profile, std::string_view function) {
  ScanLaw law = usual_convolution(function);
  const int units = profile.units.multiprocessors;
  const double slower = units > 0 ? convolution_units / units : 1;
  law.state = law.state * slower, law.chunk = law.chunk * slower;
  return law;
}

/// That of the engine's own kernels, else the one that is nobody's in particular; null where there is neither.
const ScanLaw* timed_convolution(const Profile& profile, std::string_view function, std::string_view kernels) {
  const ScanLaw* plain = nullptr;
  for (const ScanLaw& law : profile.scans) {
    if (law.function != function) continue;
    if (law.kernels == kernels) return &law;
    if (law.kernels.empty() && plain == nullptr) plain = &law;
  }
  return plain;
}

}  // namespace

std::string_view convolution_of(const ChannelConvolution& shape) {
  return shape.positions > most_convolved_words ? prompt_convolution : word_convolution;
}

KernelTime convolution_time(const ScanLaw& law, const ChannelConvolution& shape) {
  const double states = shape.sequences * shape.channels / law.value_size,
               chunks = std::ceil(shape.positions / law.positions),
               fill = std::min(shape.positions, convolved_block) / convolved_block;
  const Seconds start = law.t0 + law.first_chunk * fill, busy = (law.state + law.chunk * chunks) * states;
  KernelTime out;
  out.time =
      Seconds(std::pow(std::pow(start.value(), law.softness) + std::pow(busy.value(), law.softness), 1 / law.softness));
  out.source = law.source;
  if (shape.taps != law.key_size) out.source = std::max(out.source, Source::transferred);
  out.spread = law.spread;
  out.bound = start > busy ? Bound::launch : Bound::memory;
  return out;
}

KernelTime convolution_time(const Profile& profile, const ChannelConvolution& shape, std::string_view kernels) {
  const std::string_view function = convolution_of(shape);
  const ScanLaw* own = timed_convolution(profile, function, kernels);
  KernelTime out = convolution_time(own != nullptr ? *own : transferred_convolution(profile, function), shape);
  if (out.source < Source::transferred) return out;
  // A law goes from GPU to GPU by multiprocessors: many of them before a slow memory wait for it.
  const Bytes once(2 * convolved_bytes * shape.sequences * shape.positions * shape.channels);
  const Seconds least = memory_time(profile.memory, once).time;
  if (out.time < least) out.time = least, out.bound = Bound::memory;
  return out;
}

}  // namespace stepcast
