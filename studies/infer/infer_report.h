// An answer in words and in JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "studies/cli/console.h"
#include "studies/infer/asked.h"

namespace stepcast::infer {

/// What an iteration waits for and its share, the longest first.
std::vector<std::pair<std::string, double>> bindings_of(const sim::IterationTime& iteration);
/// Parts that take a hundredth of the iteration or more, at shapes that their laws have not seen.
std::vector<std::string> warnings_of(const Answer& answer);

std::string infer_text(const Asked& asked, const Answer& answer, const Console& console);
std::string infer_json(const Asked& asked, const Answer& answer);

}  // namespace stepcast::infer
