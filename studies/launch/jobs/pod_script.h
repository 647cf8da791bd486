// What a container runs, as a script.
#pragma once

#include <string>

#include "model/base/error.h"
#include "model/yaml/yaml.h"
#include "studies/launch/jobs/config_maps.h"

namespace stepcast::launch {

/// Its variables on the first line, its command and arguments on the lines of the manifest. Error: it runs what its
/// image does.
Expected<std::string> script_of_container(
    const YamlNode& container, const PodVariables& variables, const std::string& where);
/// Of one text alone.
std::string script_of_entrypoint(const YamlNode& entrypoint);
/// What a script says, without the place of its node and lines that only stand for those of the manifest.
std::string alike_on_all_nodes(const std::string& script);

}  // namespace stepcast::launch
