// Tasks and services that ask for machines and run commands on each of them, dstack's and SkyPilot's: their commands
// become a script behind the variables that such a service sets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/yaml/yaml.h"

namespace stepcast::launch {

struct MachineTask {
  std::string kind;                           ///< "dstack"
  std::string script;                         ///< on the lines of the file
  std::int64_t nodes = 1, gpus_per_node = 0;  ///< GPUs of a node: 0 = not told, or a range of counts
  std::string gpu_kind;                       ///< "h100"; "" = not told, or several
};

/// Whether the text of a file may be one; it is none for certain where this says no.
bool looks_like_machine_task(const std::string& text);
/// nullopt: it is none. With `services` dstack's services are tasks too: they run for ever, as no training does.
/// What the user defines goes over the file.
std::optional<MachineTask> machine_task(
    const YamlNode& document, bool services = false, const std::map<std::string, std::string>& defined = {});

}  // namespace stepcast::launch
