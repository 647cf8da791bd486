// Which of several processes this one is, by the variables that launchers set: torchrun, Open MPI, MPICH and Intel MPI,
// Slurm's srun. A launcher is a row in a table. None set: one process for all GPUs of the host.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast::kernels {

struct LaunchPlace {
  std::string launcher;  ///< "torchrun", "mpirun", "mpiexec", "srun"; "" = started alone
  int process = 0, processes = 1;
  int local = 0;          ///< number among the processes of this host
  int on_host = 1;        ///< processes on this host; 0 = the launcher does not say
  std::string meet_host;  ///< where process 0 listens for the others
  int meet_port = 0;
  std::string job;  ///< tells this start of the program from others on the same hosts
};

/// `environment` gives a variable's value, or null. Fails on contradicting or unreadable values, naming the variable,
/// and where several processes run but no variable says where process 0 is (hint: MASTER_ADDR and MASTER_PORT).
Expected<LaunchPlace> launch_place(const std::function<const char*(const char*)>& environment);
Expected<LaunchPlace> launch_place();  ///< of this process

/// Counts of processes per node as Slurm writes them, "4(x2),3": what node `node` has; 0 where the text does not say.
int slurm_tasks_on(std::string_view counts, int node);
/// The first host of a list as Slurm writes it: "gpu[007-010,12],login" is gpu007.
std::string slurm_first_host(std::string_view hosts);

}  // namespace stepcast::kernels
