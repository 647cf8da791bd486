// Applies the changes that a user names: it reads them, puts them into the request or onto the machine, and forecasts.
#pragma once

#include <string>

#include "studies/whatif/whatif.h"

namespace stepcast {

/// The forecast of a request, or why there is none.
Expected<Outcome> outcome_of_request(const Request& request);

/// "2x", "2" or "0.5" as a number from `least` to `most`, without the x where a bare number stands for a factor too.
Expected<double> parse_factor(const std::string& text, const std::string& where, double least, double most);

}  // namespace stepcast
