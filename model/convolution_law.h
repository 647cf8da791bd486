// The time of convolutions along positions, channel by channel, in front of scans. A profile has their laws among those
// of scans (ScanLaw), one per phase and engine: a state is `value_size` channels of a sequence, `key_size` are the
// taps, and a chunk of `positions` is computed whole. t = pn(softness; t0 + fill * first_chunk, N (state + n * chunk))
// of N states and n chunks of a sequence, where `fill` is the share of eight positions that a sequence has.
#pragma once

#include <string_view>

#include "model/profile/kernel_law.h"
#include "model/profile/scan_law.h"

namespace stepcast {

/// Sequences of so many new positions each.
struct ChannelConvolution {
  double sequences = 1, positions = 1, channels = 0, taps = 4;
};
/// Sequences of few new positions have the kernels of words: one, and those that were drafted behind it.
std::string_view convolution_of(const ChannelConvolution& shape);

KernelTime convolution_time(const ScanLaw& law, const ChannelConvolution& shape);

/// By the law of the engine's own kernels, else by what is usual on other GPUs.
KernelTime convolution_time(const Profile& profile, const ChannelConvolution& shape, std::string_view kernels);

}  // namespace stepcast
