// One JSON document per prediction: base units, the unit at the end of each key, all digits.
#pragma once

#include <string>

#include "studies/forecast.h"
#include "studies/report/explain.h"
#include "studies/scenario.h"

namespace stepcast {

/// `explained` adds the key "explanation"; null leaves it out.
std::string json_report(const Scenario& scenario, const Prediction& prediction, const Explained* explained = nullptr);

}  // namespace stepcast
