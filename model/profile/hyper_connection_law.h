// The time of hyper-connections around a sublayer: by the profile's law, else by what is usual on other GPUs.
#pragma once

#include <string_view>

#include "model/profile/kernel_law.h"

namespace stepcast {

const char* to_text(HyperConnectionPart part);

/// So many residual streams of `width` numbers at each position.
struct HyperConnectionShape {
  HyperConnectionPart part = HyperConnectionPart::pre;
  double positions = 0, streams = 0, width = 0, element_bytes = 2;
};

/// `pre` reads the streams for the coefficients and again for the sum, and writes what the sublayer reads; `post` reads
/// them and the sublayer's result, and writes them. Matrix and coefficients are left out.
Bytes bytes_of(const HyperConnectionShape& shape);

KernelTime hyper_connection_time(const HyperConnectionLaw& law, const HyperConnectionShape& shape);

/// `kernels`: the engine's whose they are (HyperConnectionLaw); "" in training.
KernelTime hyper_connection_time(
    const Profile& profile, const HyperConnectionShape& shape, std::string_view kernels = {});
/// What it takes of that before bytes move.
Seconds hyper_connection_start(
    const Profile& profile, const HyperConnectionShape& shape, std::string_view kernels = {});

}  // namespace stepcast
