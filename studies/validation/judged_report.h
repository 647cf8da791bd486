// The judged classes as `stepcast validate` prints them.
#pragma once

#include <string>
#include <vector>

#include "model/base/json_writer.h"
#include "studies/validation/judged_class.h"

namespace stepcast::validation {

/// A line per class; with hold-outs its figures are of forecasts that did not know the run's group.
std::string judged_text(const std::vector<JudgedRow>& rows);
/// Writes the list "judged" into the open object.
void write_judged(JsonWriter& json, const std::vector<JudgedRow>& rows);

}  // namespace stepcast::validation
