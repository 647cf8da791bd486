// One plan on more and more GPUs: tp, cp, pp and the rest stay, dp grows. Strong scaling keeps the global batch, weak
// scaling the batch per GPU.
#pragma once

#include <span>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"
#include "studies/run/request.h"
#include "studies/scale/curve.h"

namespace stepcast::scale {

/// `gpus` ascending; one count, or none: powers of two times it up to 16 x or what the machine holds. The batch of
/// `request` is that of the smallest count that is legal. Errors: no count is legal; a mapping, which says its GPUs
/// itself.
Expected<ScaleStudy> scale_study(
    const Request& request, std::vector<std::int64_t> gpus, std::span<const Scaling> scalings);

Expected<void> scale_command(const Arguments& arguments, Console& console);
std::span<const Flag> scale_flags();

}  // namespace stepcast::scale
