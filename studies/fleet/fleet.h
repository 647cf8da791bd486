// stepcast fleet: capacity planning.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/cli/flags.h"
#include "studies/fleet/options.h"
#include "studies/fleet/sharing.h"

namespace stepcast::fleet {

struct FleetAnswer {
  std::vector<FleetMachine> machines;
  std::vector<JobOnFleet> jobs;
  std::optional<double> budget;
  std::vector<FleetChoice> front;        ///< cost over time
  std::optional<FleetChoice> in_time;    ///< the cheapest that meets every deadline
  std::optional<FleetChoice> in_budget;  ///< the fastest within the budget
  std::vector<std::string> missed;       ///< what no choice meets, and by how much; "" where all is met
  std::vector<BesideEachOther> beside;   ///< of chosen(), where several jobs are on one machine
  /// The choice that answers: in time, else in the budget, else the cheapest.
  [[nodiscard]] const FleetChoice& chosen() const { return in_time ? *in_time : in_budget ? *in_budget : front.back(); }
};

/// `jobs` with their options. Errors: the jobs cannot run at once.
Expected<FleetAnswer> answer_fleet(
    std::vector<FleetMachine> machines, std::vector<JobOnFleet> jobs, std::optional<double> budget);

std::string fleet_text(const FleetAnswer& answer, const Console& console);
/// Times in seconds, costs in the currency of the prices.
std::string fleet_json(const FleetAnswer& answer);

Expected<void> fleet_command(const Arguments& arguments, Console& console);
std::span<const Flag> fleet_flags();

}  // namespace stepcast::fleet
