// Where a container stands in a deployment: what the nodes above it say of its part.
#pragma once

#include <cstdint>
#include <string>

#include "model/yaml/yaml.h"
#include "studies/engines/engine_line.h"

namespace stepcast::engines {

struct Surroundings {
  std::string part;
  std::int64_t copies = 1;
  std::string open_copies;  ///< why their number is not known
  std::string gpu_kind;     ///< of the nodes that it is for
  PoolRole role = PoolRole::whole;
  const YamlNode* parallelism = nullptr;  ///< of its pool, in values of llm-d's chart
};

/// Adds what a map says of all that stands in it.
void go_inside(const YamlNode& map, const std::string& where, Surroundings& around);

/// "" where there is no such node, or it is no scalar.
std::string text_of(const YamlNode* node);

}  // namespace stepcast::engines
