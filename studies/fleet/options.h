// What a job takes on each number of GPUs of each machine: the best plan of a sweep, with the goodput of a job around
// its step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/fleet/choose.h"
#include "studies/job/wishes.h"
#include "studies/mixed/shares.h"

namespace stepcast::fleet {

/// Machines that may be had, the most GPUs of each, at the user's price.
struct FleetMachine {
  MachineShare share;  ///< gpus: the most
  double gpu_hour = 0;
};
/// "dgx-h100:512,dgx-a100:1024" and "dgx-h100=2.5,dgx-a100=1.2". Errors: those of parse_shares() and
/// numbers_of_shares(); a machine twice.
Expected<std::vector<FleetMachine>> parse_fleet(
    const std::string& machines, const std::string& prices, const std::string& where);

/// GPU counts to look at: whole nodes, doubled up to the most, and the most itself.
std::vector<std::int64_t> counts_of(const FleetMachine& machine);

/// How a job runs there.
struct OptionPlan {
  std::int64_t gpus = 1;  ///< that run; the option takes the spare nodes', too
  std::string where;      ///< "64 x dgx-h100", "72 x dgx-h100 (64 run)"
  std::string split;      ///< "tp 8, cp 1, pp 4, ..."
  std::string flags;      ///< of predict, that say the same
  Seconds step;
  double mfu = 0;  ///< of this step, uneven work and what stands around included
  double goodput = 0;
  Seconds interval;  ///< of computing between checkpoints
  std::shared_ptr<const Scenario> scenario;
};

struct JobOnFleet {
  FleetJob job;
  std::vector<OptionPlan> plans;     ///< of its options
  std::vector<std::string> skipped;  ///< where it cannot run, and why
  /// What its plans take for granted and what is doubtful: each once, with the options' names where not all share it.
  std::vector<std::string> defaults, notes, warnings;
};

/// `run`: the words and flags of a sweep without machine, GPUs and price. Spare nodes take room and are paid, too.
/// Errors: those of the sweep's words; nothing runs anywhere.
Expected<JobOnFleet> job_options(
    const Arguments& run, const JobWishes& wishes, const std::vector<FleetMachine>& machines);

}  // namespace stepcast::fleet
