// GPU side only. Which GPUs of its host are this process's, started, and what all processes have.
#pragma once

#include "kernels/cuda/collective/collective_team.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/process/launch_place.h"
#include "kernels/process/rank_table.h"
#include "kernels/process/rendezvous.h"

namespace stepcast::kernels::gpu {

struct ProcessGpus {
  CollectiveTeam team;
  RankTable table;       ///< of all processes
  int first_rank = 0;    ///< of this one's
  DeviceInfo device;     ///< this process's first
  GpuSettings settings;  ///< of it
};

/// Called by all processes at once; all fail where one does.
Expected<ProcessGpus> find_gpus(Rendezvous& processes, const LaunchPlace& place);

}  // namespace stepcast::kernels::gpu
