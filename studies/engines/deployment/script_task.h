// Files that run one script on machines which they ask for: servers of Baseten's Truss, tasks and services of SkyPilot
// and dstack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/yaml/yaml.h"
#include "studies/engines/deployment/copies.h"
#include "studies/engines/line/host_gpus.h"

namespace stepcast::engines {

struct ScriptTask {
  std::string script;
  std::size_t line = 0;  ///< where it begins
  std::string image;
  HostGpus host;  ///< that it runs on
  Copies copies;
};

/// Whether the text of a file may be one.
bool looks_like_script_task(const std::string& text);

/// nullopt: it is none.
std::optional<ScriptTask> script_task(
    const YamlNode& document, const std::string& where, const std::map<std::string, std::string>& defined);

}  // namespace stepcast::engines
