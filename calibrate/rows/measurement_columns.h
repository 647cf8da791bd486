// The columns of each table of a measurement file, for reading and writing alike.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "calibrate/rows/measurement.h"
#include "model/base/json_value.h"

namespace stepcast::calibrate::detail {

using namespace stepcast::detail;  // the values of JSON

struct MeasurementColumn {
  std::string_view name;
  bool always = false;                                 ///< written, and needed, even where all rows hold the default
  std::string (*print)(const Measurement&) = nullptr;  ///< as JSON
  std::string (*take)(Measurement&, const JsonValue&) = nullptr;  ///< "" or what the column holds instead
};

/// One table for each alternative of Query, in its order.
struct MeasurementTable {
  std::string_view name;                       ///< "gemm"
  Query query;                                 ///< all defaults
  std::span<const MeasurementColumn> columns;  ///< of the query
};
std::span<const MeasurementTable> measurement_tables();
/// The columns that every table has before its own.
std::span<const MeasurementColumn> common_measurement_columns();

}  // namespace stepcast::calibrate::detail
