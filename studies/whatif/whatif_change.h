// Applies the changes that a user names: it reads them, puts them into the request or onto the machine, and forecasts.
#pragma once

#include <string>
#include <vector>

#include "studies/whatif/sensitivity.h"

namespace stepcast::whatif {

/// "nic=2x", "tp=16": a rate or delay of the machine times a factor, a number of the plan times one, or another value.
struct Change {
  std::string id, value;
};
struct ChangeEffect {
  Scenario scenario;
  Outcome before;
  // clang-format off
  struct One { Change change; std::string name, from, to; Outcome after; std::string refused; };
  // clang-format on
  std::vector<One> alone;  ///< each by itself; `refused` where it is only legal beside the others
  Outcome together;
  std::string split;  ///< of the changed plan, in words
};
/// Errors: an unknown name, a value that its flag refuses, a machine's lever without a factor, the joint plan.
Expected<ChangeEffect> change_effect(const Request& request, const std::vector<Change>& changes);

/// From what --change collected: "nic=2x,layout=9,8,8,7" are two.
Expected<std::vector<Change>> parse_changes(const std::string& text, const std::string& where);

/// "2x", "2" or "0.5" as a number from `least` to `most`, without the x where a bare number stands for a factor too.
Expected<double> parse_factor(const std::string& text, const std::string& where, double least, double most);

}  // namespace stepcast::whatif
