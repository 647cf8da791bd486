// --explain shows the mapping with every alias written out, the line that decided each operator and axis, and the
// numbers behind each price.
#pragma once

#include <string>
#include <vector>

#include "dataflow/lower/lower.h"
#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/predict/prices.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::predict {

struct Explained {
  Explanation mapping;
  std::vector<PriceRow> kernels, moves;
};

/// Measured over predicted, 10th to 90th percentile: "-4 % +7 %".
std::string spread_text(const Spread& spread);

Expected<Explained> explain_prediction(const Scenario& scenario, const Prediction& prediction);

std::string explain_text(const Explained& explained, const Prediction& prediction, const Console& console);

/// Under the key "explanation" of the open object.
void write_explanation(JsonWriter& json, const Explained& explained);

}  // namespace stepcast::predict
