// What software does about uneven work: other deals of the same micro-batches, documents packed by cost, experts placed
// by their rows, layers moved away from the slow stage.
#pragma once

#include <string>
#include <vector>

#include "studies/whatif/uneven.h"

namespace stepcast::whatif {

struct UnevenLever {
  std::string id, name;
  UnevenForecast after;
};
struct UnevenStudy {
  UnevenForecast now;
  std::vector<UnevenLever> levers;  ///< those that apply here, the shortest step first
};
/// Errors: what the forecast or uneven_forecast() refuses.
Expected<UnevenStudy> uneven_study(const Request& request, const UnevenWords& words);

std::string uneven_levers_text(const UnevenStudy& study);
std::string uneven_levers_json(const UnevenStudy& study);

}  // namespace stepcast::whatif
