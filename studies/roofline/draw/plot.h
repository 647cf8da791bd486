// Draws the kernel roofline on a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "studies/cli/console.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

/// the heaviest: those with a letter in the plot and a row in the table
inline constexpr std::size_t listed_operators = 12;

/// "A" for the heaviest; "" beyond those that are listed.
std::string letter_of_point(std::size_t i);

/// Roofs of the plan's precision and the letters of listed operators, in the frame of the report.
std::string roofline_plot(const RooflineReport& report, const Console& console);

}  // namespace stepcast::roofline
