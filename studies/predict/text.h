// Prints the page that a person reads: what the step takes, where the time goes, what moves, what memory holds and what
// was assumed.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::predict {

/// `count`: with the FLOP/s that its program would print beside our own.
std::string text_report(
    const Scenario& scenario, const Prediction& prediction, const Console& console, const FlopsCount* count = nullptr);

}  // namespace stepcast::predict
