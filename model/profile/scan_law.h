// The time of a scan: by the profile's law for its function, else by what is usual on other GPUs.
#pragma once

#include <array>
#include <string_view>

#include "model/network/operator.h"
#include "model/profile/kernel_law.h"

namespace stepcast {

/// Laws of convolutions in front of scans stand among those of scans (model/convolution_law.h), by these names: of
/// kernels over whole prompts, and of those that move a state on by a word.
inline constexpr std::string_view prompt_convolution = "conv", word_convolution = "conv_update";
inline bool names_convolution(std::string_view function) {
  return function == prompt_convolution || function == word_convolution;
}

/// What corrections of scans ask about: doublings of each, the law's own time last. A state is of one head of one
/// sequence, a row one position of one sequence.
inline constexpr std::array scan_feature_names{
    "sequences", "positions", "heads", "groups", "states", "rows", "state_positions", "law"};
using ScanFeatures = std::array<float, scan_feature_names.size()>;
/// `alone`: the time that the law gives, without a correction.
ScanFeatures scan_features(const ScanShape& scan, Seconds alone);

/// By this law, without its correction.
KernelTime scan_time_alone(const ScanLaw& law, const ScanShape& scan);

/// By this law, forward.
KernelTime scan_time(const ScanLaw& law, const ScanShape& scan);

/// `backward`: the kernel that makes the gradients. Nobody measured one: it takes as many times longer as it has FLOPs.
/// `kernels`: the engine's whose they are (ScanLaw); "" in training.
KernelTime scan_time(const Profile& profile, const ScanShape& scan, bool backward, std::string_view kernels = {});

}  // namespace stepcast
