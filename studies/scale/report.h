// The answers of stepcast scale: a table per kind of scaling, the fitted law, a plot of speed-ups, and what breaks
// first.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/scale/curve.h"

namespace stepcast::scale {

std::string scale_text(const ScaleStudy& study, const Console& console);
std::string scale_json(const ScaleStudy& study);

/// "at 4x (512 GPUs): 8 micro-batches are fewer than ...", or that nothing does.
std::string first_break(const ScalingCurve& curve);

}  // namespace stepcast::scale
