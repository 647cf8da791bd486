// Where a container stands in a deployment: what the nodes above it say of its part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/yaml/yaml.h"
#include "studies/engines/deployment/copies.h"
#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {

struct Surroundings {
  std::string part;
  Copies copies;
  HostGpus host;             ///< of the nodes that it is for
  std::string job_pods;      ///< of a Job that has several: their number as written; "": it has one
  std::string unlike;        ///< why nodes of one engine are not alike; "": they are
  std::size_t job_line = 0;  ///< where they are told
  PoolRole role = PoolRole::whole;
  std::map<std::string, std::string> variables;  ///< that the operator sets in its containers
  const YamlNode* parallelism = nullptr;         ///< of its pool, in values of llm-d's chart
};

/// Adds what a map says of all that stands in it.
void go_inside(const YamlNode& map, const std::string& where, Surroundings& around);

/// Why it is not known how many engines run: a part of Dynamo's graph changes that; "": none does.
std::string planner_of(const YamlNode& document, const std::string& where);

/// Parts that autoscalers beside them start and end, by their names (Kubernetes, KEDA, AIBrix).
std::map<std::string, Copies> scaled_parts(const std::vector<YamlNode>& documents, const std::string& where);

/// "" where there is no such node, or it is no scalar.
std::string text_of(const YamlNode* node);

/// Whether a line of a text begins with it, behind blanks and dashes.
bool has_line(const std::string& text, std::string_view key);

/// "TPUs" where the image or what it asks for is of accelerators that are no GPUs.
std::string chip_of(const YamlNode& container);

}  // namespace stepcast::engines
