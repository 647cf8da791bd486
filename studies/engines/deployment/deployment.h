// Containers of deployments: Kubernetes (also LeaderWorkerSet, KServe, Dynamo's graphs, llm-d's model services) and
// docker compose. Each container whose command line calls a program of the table is a line, with how often it stands.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {

/// By its keys: "kind:" with "apiVersion:", or "services:", or containers.
bool looks_like_deployment(const std::string& text);

/// Errors: what is no YAML; a shell command in it that is cut off. None is found where Helm's templates stand in it.
Expected<std::vector<EngineLine>> deployment_lines(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined);

}  // namespace stepcast::engines
