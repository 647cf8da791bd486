// The time of a scan: by the profile's law for its function, else by what is usual on other GPUs.
#pragma once

#include <string_view>

#include "model/network/operator.h"
#include "model/profile/kernel_law.h"

namespace stepcast {

/// By this law, forward.
KernelTime scan_time(const ScanLaw& law, const ScanShape& scan);

/// `backward`: the kernel that makes the gradients. Nobody measured one: it takes as many times longer as it has FLOPs.
/// `kernels`: the engine's whose they are (ScanLaw); "" in training.
KernelTime scan_time(const Profile& profile, const ScanShape& scan, bool backward, std::string_view kernels = {});

}  // namespace stepcast
