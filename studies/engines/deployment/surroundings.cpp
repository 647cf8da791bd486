#include "studies/engines/deployment/surroundings.h"

#include <optional>

#include <fmt/format.h>

#include "model/base/whole_number.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;

const YamlNode* child(const YamlNode* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

/// How parts tell their role: Dynamo's graphs (type, subComponentType) and llm-d's labels.
PoolRole role_of_part(const YamlNode& node) {
  const YamlNode* labels = child(node.find("metadata"), "labels");
  for (const YamlNode* told : {node.find("subComponentType"), node.find("type"), child(labels, "llm-d.ai/role")}) {
    if (text_of(told) == "prefill") return PoolRole::prompts;
    if (text_of(told) == "decode") return PoolRole::tokens;
  }
  return PoolRole::whole;
}

/// "replicas: ${COUNT}", or more than a cluster has: how many engines there are is not known.
void take_copies(const YamlNode* told, const std::string& where, Surroundings& around) {
  if (told == nullptr || told->kind != Kind::scalar || told->text.empty()) return;
  const auto count = parsed_number<std::int64_t>(told->text);
  constexpr std::int64_t most = 1'000'000;
  if (count && *count >= 0 && *count <= most && around.copies <= most) around.copies *= *count;
  else
    around.open_copies =
        fmt::format("{}:{} {} '{:.40}' is no number of engines", where, told->position.line, told->key, told->text);
}

/// DisaggregatedSet repeats both pools in slices; compose has the copies of a service under "deploy", or as "scale".
void take_copies(const YamlNode& node, const std::string& where, Surroundings& around) {
  for (const char* key : {"replicas", "slices"}) take_copies(node.find(key), where, around);
  if (node.find("image") == nullptr) return;
  take_copies(node.find("scale"), where, around);
  take_copies(child(node.find("deploy"), "replicas"), where, around);
}

/// Labels by which nodes with some GPU are chosen (GKE, NVIDIA's GPU feature discovery, CoreWeave).
void take_node_labels(const YamlNode& node, Surroundings& around) {
  constexpr std::string_view labels[] = {
      "cloud.google.com/gke-accelerator", "nvidia.com/gpu.product", "gpu.nvidia.com/model"};
  for (const std::string_view label : labels)
    if (const YamlNode* chosen = child(node.find("nodeSelector"), label)) around.gpu_kind = chosen->text;
}

}  // namespace

std::string text_of(const YamlNode* node) { return node == nullptr ? "" : node->text; }

void go_inside(const YamlNode& map, const std::string& where, Surroundings& around) {
  take_copies(map, where, around);
  take_node_labels(map, around);
  if (const PoolRole role = role_of_part(map); role != PoolRole::whole) around.role = role;
  if (const YamlNode* sizes = map.find("parallelism")) around.parallelism = sizes;
  const std::string named = text_of(child(map.find("metadata"), "name")), own = text_of(map.find("name"));
  const bool part_of_list = map.find("podTemplate") != nullptr || map.find("spec") != nullptr;
  if (!named.empty()) around.part = named;
  else if (part_of_list && !own.empty()) around.part = own;
}

}  // namespace stepcast::engines
