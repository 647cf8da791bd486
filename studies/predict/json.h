// Writes one JSON document per prediction, in base units with the unit at the end of each key and with all digits.
#pragma once

#include <string>

#include "studies/run/forecast.h"
#include "studies/predict/explain.h"
#include "studies/whatif/around_steps.h"
#include "studies/whatif/uneven.h"
#include "studies/run/scenario.h"

namespace stepcast::predict {

/// `explained` adds the key "explanation", `count` the FLOP/s that its program would print, `uneven` the
/// step of --imbalance, `around` what stands around steps.
std::string json_report(const Scenario& scenario, const Prediction& prediction, const Explained* explained = nullptr,
    const FlopsCount* count = nullptr, const UnevenForecast* uneven = nullptr,
    const std::vector<AroundPart>& around = {});

}  // namespace stepcast::predict
