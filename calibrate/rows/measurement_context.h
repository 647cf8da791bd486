// Names the fields of a context, for its form in a file and for telling where two contexts contradict each other.
#pragma once

#include <span>
#include <string>

#include "calibrate/rows/measurement.h"
#include "model/base/error.h"
#include "model/base/json_value.h"

namespace stepcast::calibrate {

/// Fills what the context leaves open from what was given; fails where both say something else, and where one names
/// another device than the other's GPU.
Expected<MeasurementContext> merged_context(
    MeasurementContext context, const MeasurementContext& given, const std::string& where);

/// Why timings without a GPU are not taken: nothing says one, or the catalogue has not the device.
Error gpu_missing(const MeasurementContext& context, const std::string& where);

namespace detail {

using namespace stepcast::detail;  // the values of JSON

// clang-format off
struct ContextText { const char* name; std::string MeasurementContext::*value; };
struct ContextNumber { const char* name; double MeasurementContext::*value; };
// clang-format on
std::span<const ContextText> context_texts();
std::span<const ContextNumber> context_numbers();

Expected<MeasurementContext> read_measurement_context(const JsonValue& value, const std::string& where);
/// Writes the context on one line, without what is not known.
std::string write_measurement_context(const MeasurementContext& context);

}  // namespace detail
}  // namespace stepcast::calibrate
