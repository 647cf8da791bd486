// Jobs of Kubernetes that train, as manifests tell them (PyTorchJob, MPIJob, TrainJob, JobSet, RayJob, Volcano's and
// plain jobs): what their pods run becomes a script, and how many there are the nodes of the launch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "model/base/error.h"

namespace stepcast::launch {

struct JobManifest {
  std::string kind;                           ///< "PyTorchJob"
  std::string script;                         ///< on the lines of the manifest, behind the container's environment
  std::int64_t nodes = 0, gpus_per_node = 0;  ///< pods that train, and GPUs that each asks for; 0 = not told
  std::int64_t ranks = 0;                     ///< that a launcher starts in each where it is told none
  bool hosts = false;                         ///< one pod starts the ranks of all others
  bool tells = false;                         ///< its controller tells the launcher of nodes and ranks
  std::string gpu_kind;                       ///< "nvidia-h100-80gb" where its nodes are chosen by that
  std::vector<calibrate::LaunchFile> files;   ///< that its pods find, of ConfigMaps beside it
  std::vector<std::string> untold;            ///< where variables come from that the file does not have
};

/// Has it documents, one of them of a kind that is known?
bool is_job_manifest(const std::string& text, const std::string& where);

/// `defined` stands for variables of a template: $NUM_NODES. Errors: no YAML, no job or several, no container that runs
/// anything, pods that train by different commands or with different GPUs, accelerators that are no GPUs.
Expected<JobManifest> read_job_manifest(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined);

/// Puts the manifest's counts where the launcher tells none. Error: it tells others.
Expected<void> put_counts(const JobManifest& job, const std::string& where, calibrate::LaunchLine& line);

}  // namespace stepcast::launch
