// Prints the page that a person reads: what the step takes, where the time goes, what moves, what memory holds and what
// was assumed.
#pragma once

#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::predict {

/// What the step takes with what it was told beside even work; it stands below the step in the headline.
struct StepWith {
  const char* what;
  Seconds time;
  const char* why;
};

/// `count`: with the FLOP/s that its program would print beside our own.
std::string text_report(const Scenario& scenario, const Prediction& prediction, const Console& console,
    const FlopsCount* count = nullptr, const std::vector<StepWith>& steps = {});

}  // namespace stepcast::predict
