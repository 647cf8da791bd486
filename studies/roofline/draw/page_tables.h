// The tables of the roofline's page: all rows, in the order of the JSON's lists, so that the n-th row is the n-th of
// the list.
#pragma once

#include <string>

#include "studies/roofline/report.h"

namespace stepcast::roofline {

/// HTML, escaped. "" where there is nothing to list.
std::string kernel_table(const RooflineReport& report);
std::string loose_table(const RooflineReport& report);  ///< timed kernels that are no operator of the run
std::string roof_table(const RooflineReport& report);   ///< of the GPU and of the links
std::string network_table(const RooflineReport& report);
std::string boundaries_table(const RooflineReport& report);  ///< a row per operator and boundary
std::string waterfall_table(const RooflineReport& report);
std::string lever_table(const RooflineReport& report);

/// FLOP per byte: "0.250", "12.3", "1,230", "2.11 G".
std::string table_intensity(double flops_per_byte);

}  // namespace stepcast::roofline
