// Chooses machines for jobs that run at once: cost against time. Knows neither runs nor machines, only what each way
// takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/units.h"

namespace stepcast::fleet {

/// A job on so many GPUs of a machine.
struct FleetOption {
  int machine = 0;        ///< index
  std::int64_t gpus = 1;  ///< taken from it: spare nodes, too
  Seconds time;
  double cost = 0;
};

struct FleetJob {
  std::string name;
  std::optional<Seconds> deadline;
  std::vector<FleetOption> options;
};

struct FleetChoice {
  std::vector<int> option;  ///< of each job, an index
  Seconds time;             ///< of the longest job
  double cost = 0;          ///< of all
};

/// The cheapest choice in which no job takes longer than its deadline or `latest`, and all jobs at once need no more
/// than `most` GPUs of each machine; of equal ones the fastest. Exact: branch and bound. None: there is none.
std::optional<FleetChoice> cheapest(
    const std::vector<FleetJob>& jobs, const std::vector<std::int64_t>& most, std::optional<Seconds> latest = {});

/// Choices of which none is both cheaper and earlier than another, by time; deadlines do not count.
std::vector<FleetChoice> cost_over_time(std::vector<FleetJob> jobs, const std::vector<std::int64_t>& most);

}  // namespace stepcast::fleet
