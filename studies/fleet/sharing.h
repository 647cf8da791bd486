// What the jobs of a choice cost each other on the fabric of a machine: steps beside each other against alone.
//
// A machine whose network has levels (nodes in pods, pods in a cluster) has links out of each instance of the second
// level and above that all its GPUs share. A forecast takes each GPU to have its even part of them, as if all GPUs of
// the machine sent at once. Alone a job has more: up to what its adapters give. One level is shared at a time, and the
// others are as in the forecast. Jobs on whole nodes share no link of a network of one level.
#pragma once

#include <string>
#include <vector>

#include "sim/job/shared_links.h"
#include "studies/fleet/choose.h"
#include "studies/fleet/options.h"

namespace stepcast::fleet {

enum class Packing : std::uint8_t {
  packed,  ///< one job's GPUs behind the other's, in the order of the jobs
  spread,  ///< each job's GPUs over all instances alike
};
const char* to_text(Packing packing);

struct JobBeside {
  std::size_t job = 0;   ///< index
  std::string level;     ///< into which the links are shared
  sim::SharedStep step;  ///< all equal where the job's GPUs lie in one instance
  double sending = 0;    ///< share of its step alone in which it sends over them, into the level or further out
};

struct BesideEachOther {
  int machine = 0;
  Packing packing = Packing::packed;
  std::vector<JobBeside> jobs;
};

/// For each machine that several jobs of the choice run on and whose network has levels, packed and spread. Errors:
/// what a forecast at other rates refuses.
Expected<std::vector<BesideEachOther>> beside_each_other(
    const std::vector<FleetMachine>& machines, const std::vector<JobOnFleet>& jobs, const FleetChoice& choice);

/// GPUs of an instance whose links are shared, of a node and of the machine.
struct FabricSizes {
  std::int64_t instance = 1, node = 1, machine = 1;
};
/// GPUs of each job, which has whole nodes, in each of the instances.
std::vector<std::vector<std::int64_t>> lay_jobs(
    const std::vector<std::int64_t>& jobs, const FabricSizes& sizes, Packing packing);

}  // namespace stepcast::fleet
