// stepcast whatif asks what moves a step, and by how much.
#pragma once

#include <span>

#include "studies/cli/flags.h"

namespace stepcast {

std::span<const Flag> whatif_flags();

}  // namespace stepcast
