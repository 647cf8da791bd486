// Where a container stands in a deployment: what the nodes above it say of its part.
#pragma once

#include <string>
#include <string_view>

#include "model/yaml/yaml.h"
#include "studies/engines/deployment/copies.h"
#include "studies/engines/engine_line.h"

namespace stepcast::engines {

struct Surroundings {
  std::string part;
  Copies copies;
  std::string gpu_kind;  ///< of the nodes that it is for
  PoolRole role = PoolRole::whole;
  const YamlNode* parallelism = nullptr;  ///< of its pool, in values of llm-d's chart
};

/// Adds what a map says of all that stands in it.
void go_inside(const YamlNode& map, const std::string& where, Surroundings& around);

/// "" where there is no such node, or it is no scalar.
std::string text_of(const YamlNode* node);

/// Whether a line of a text begins with it, behind blanks and dashes.
bool has_line(const std::string& text, std::string_view key);

/// "TPUs" where the image or what it asks for is of accelerators that are no GPUs.
std::string chip_of(const YamlNode& container);

}  // namespace stepcast::engines
