// Deployments that tell an engine's settings as values, which a chart, an operator or Ray turns into its command:
// vLLM's production stack, KServe, Ray Serve LLM. Each is a row of a table.
#pragma once

#include <vector>

#include "model/yaml/yaml.h"
#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {

/// Whether a text has the names that such values begin with.
bool looks_like_values(const std::string& text);

/// The commands that the values of a document come to. What no row knows is among their `unfollowed`.
std::vector<EngineLine> value_lines(const YamlNode& document, const std::string& where);

}  // namespace stepcast::engines
