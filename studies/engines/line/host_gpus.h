// GPUs that a job, a container or a service is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "calibrate/import/shell/words.h"
#include "model/yaml/yaml.h"

namespace stepcast::engines {

struct HostGpus {
  std::string kind;        ///< "a100" of gpu:a100:4, as it is asked for; "": not told
  std::string vendor;      ///< "AMD's GPUs"; "": not told
  std::int64_t count = 0;  ///< of a machine; 0: not told
  std::int64_t all = 0;    ///< of all machines; 0: not told
  std::int64_t nodes = 0;  ///< machines that the job has; 0: not told; below 0: told, and not known here
  std::int64_t node = 0;   ///< GPUs of each of several machines, where `count` is of all of them; 0: not told
  bool several = false;    ///< ranks of one engine may stand on several such machines
  [[nodiscard]] bool on_several() const { return several || nodes > 1 || nodes < 0; }
  /// 0: not told, or they do not divide.
  [[nodiscard]] std::int64_t of_machine() const {
    if (count > 0 || nodes < 0) return count;
    const std::int64_t machines = nodes > 1 ? nodes : 1;
    return all % machines == 0 ? all / machines : 0;
  }
};

/// By the words in front of a program: options of srun and salloc, of `docker run` and of podman, and the image. Also
/// those of a job's header: "#SBATCH", "--gres=gpu:4".
HostGpus gpus_of_words(std::span<const ShellWord> words);

/// What `inner` does not tell is as `outer` has it: a step's options go over its job's.
HostGpus within(const HostGpus& inner, const HostGpus& outer);

/// By a container's image and what it asks for (Kubernetes, with nvidia.com/gpu and amd.com/gpu), or by a service's
/// devices (Compose: `gpus`, `devices`, `deploy.resources.reservations.devices`).
HostGpus gpus_of_container(const YamlNode& container);

}  // namespace stepcast::engines
