// Prints the page that a person reads: what the step takes, where the time goes, what moves, what memory holds and what
// was assumed.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast {

inline constexpr int page_columns = 100;

std::string text_report(const Scenario& scenario, const Prediction& prediction, const Console& console);

/// 1234567 -> "1,234,567"; a small fraction keeps three digits, 0.0123 -> "0.0123".
std::string grouped_digits(double value);

}  // namespace stepcast
