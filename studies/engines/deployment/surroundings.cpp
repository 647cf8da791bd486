#include "studies/engines/deployment/surroundings.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;

const YamlNode* child(const YamlNode* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

/// Labels by which nodes with some GPU are chosen (GKE, NVIDIA's GPU feature discovery, CoreWeave).
constexpr std::string_view gpu_labels[] = {
    "cloud.google.com/gke-accelerator", "nvidia.com/gpu.product", "gpu.nvidia.com/model"};

std::string in_brackets(const std::string& kind) { return kind.empty() ? "" : fmt::format(" ({:.40})", kind); }

/// How parts tell their role: Dynamo's graphs (type, subComponentType) and llm-d's labels.
PoolRole role_of_part(const YamlNode& node) {
  const YamlNode* labels = child(node.find("metadata"), "labels");
  for (const YamlNode* told : {node.find("subComponentType"), node.find("type"), child(labels, "llm-d.ai/role")}) {
    if (text_of(told) == "prefill") return PoolRole::prompts;
    if (text_of(told) == "decode") return PoolRole::tokens;
  }
  return PoolRole::whole;
}

/// Of a group of LeaderWorkerSet, where the leader has a template of its own (kubernetes-sigs/lws,
/// pkg/utils/pod/pod_utils.go): the number of nodes, and which one it is. Of the workers the first stands for all.
void take_group(const YamlNode& node, Surroundings& around) {
  const YamlNode* size = node.find("size");
  if (size != nullptr && node.find("leaderTemplate") != nullptr) around.variables["LWS_GROUP_SIZE"] = size->text;
  if (node.key == "leaderTemplate") around.variables["LWS_WORKER_INDEX"] = "0";
  if (node.key == "workerTemplate" && around.variables.contains("LWS_GROUP_SIZE"))
    around.variables["LWS_WORKER_INDEX"] = "1";
}

/// GPUs of the first container of a pod that asks for some, and by which label its node is chosen.
HostGpus gpus_of_pod(const YamlNode* pod) {
  HostGpus host;
  const YamlNode *spec = child(pod, "spec"), *containers = child(spec, "containers");
  if (containers == nullptr) return host;
  for (const YamlNode& container : containers->items)
    if (const HostGpus asked = gpus_of_container(container); host.count == 0 && asked.count > 0) host = asked;
  for (const std::string_view label : gpu_labels)
    if (const YamlNode* chosen = child(spec->find("nodeSelector"), label)) host.kind = chosen->text;
  return host;
}

/// Nodes of one engine that have unlike GPUs, or more and fewer of them: its ranks cannot be dealt out alike.
void compare_pods(const YamlNode& node, const std::string& where, Surroundings& around) {
  const YamlNode* leader = node.find("leaderTemplate");
  if (leader == nullptr) return;
  const HostGpus first = gpus_of_pod(leader), others = gpus_of_pod(node.find("workerTemplate"));
  const bool other_kind = !first.kind.empty() && !others.kind.empty() && first.kind != others.kind;
  if (first.count > 0 && others.count > 0 && (first.count != others.count || other_kind))
    around.unlike = fmt::format("{}:{} the leader has {} GPUs{} and each worker {}{}: engines on unlike nodes are not "
                                "forecast",
        where, leader->key_line, first.count, in_brackets(first.kind), others.count, in_brackets(others.kind));
}

/// Of a Job, whose pods may be engines each, or ranks of one.
void take_job_pods(const YamlNode& node, Surroundings& around) {
  const YamlNode* pods = node.find("parallelism");
  if (pods == nullptr || pods->kind != Kind::scalar || node.find("template") == nullptr || pods->text == "1") return;
  around.job_pods = pods->text, around.job_line = static_cast<std::size_t>(std::max(0, pods->position.line));
}

/// DisaggregatedSet repeats both pools in slices.
void take_copies(const YamlNode& node, const std::string& where, Surroundings& around) {
  for (const char* key : {"replicas", "slices"}) multiply(node.find(key), where, around.copies);
  // of KServe's predictor, and of a service of Dynamo's graph
  if (node.find("minReplicas") != nullptr || node.find("maxReplicas") != nullptr)
    take_range(node, "", where, NoMaximum::is_least, around.copies);
  if (const YamlNode* scaler = node.find("autoscaling"))
    take_range(*scaler, "enabled", where, NoMaximum::is_open, around.copies);
  if (node.find("image") != nullptr) take_service_copies(node, where, around.copies);
}

void take_node_labels(const YamlNode& node, Surroundings& around) {
  for (const std::string_view label : gpu_labels)
    if (const YamlNode* chosen = child(node.find("nodeSelector"), label)) around.host.kind = chosen->text;
}

/// Of a service in Dynamo's graph, which has them in front of its container (ai-dynamo/dynamo,
/// deploy/operator/api/v1alpha1, Resources).
std::int64_t gpus_of_service(const YamlNode& service) {
  if (service.find("extraPodSpec") == nullptr) return 0;
  for (const char* key : {"limits", "requests"})
    if (const YamlNode* asked = child(child(service.find("resources"), key), "gpu"))
      return std::max<std::int64_t>(0, parsed_number<std::int64_t>(asked->text).value_or(0));
  return 0;
}

}  // namespace

std::string text_of(const YamlNode* node) { return node == nullptr ? "" : node->text; }

std::string planner_of(const YamlNode& document, const std::string& where) {
  const YamlNode* services = child(document.find("spec"), "services");
  if (services == nullptr) return "";
  for (const YamlNode& part : services->entries)
    if (text_of(part.find("componentType")) == "planner")
      return fmt::format("{}:{} {} starts and ends engines as requests come: how many run is not told", where,
          part.key_line, part.key);
  return "";
}

std::map<std::string, Copies> scaled_parts(const std::vector<YamlNode>& documents, const std::string& where) {
  constexpr std::string_view scalers[] = {"HorizontalPodAutoscaler", "ScaledObject", "PodAutoscaler"};
  std::map<std::string, Copies> parts;
  for (const YamlNode& document : documents) {
    const YamlNode *spec = document.find("spec"), *target = child(spec, "scaleTargetRef");
    if (target == nullptr || !contains(scalers, std::string_view(text_of(document.find("kind"))))) continue;
    take_range(*spec, "", where, NoMaximum::is_open, parts[text_of(target->find("name"))]);
  }
  return parts;
}

bool has_line(const std::string& text, std::string_view key) {
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '-')) --begin;
    if (begin == 0 || text[begin - 1] == '\n') return true;
  }
  return false;
}

std::string chip_of(const YamlNode& container) {
  std::string chip;
  if (const YamlNode* image = container.find("image")) chip = other_chip(image->text);
  const YamlNode* resources = container.find("resources");
  for (const char* key : {"limits", "requests"})
    if (const YamlNode* amounts = child(resources, key))
      for (const YamlNode& one : amounts->entries)
        if (chip.empty()) chip = other_chip(one.key);
  return chip;
}

void go_inside(const YamlNode& map, const std::string& where, Surroundings& around) {
  take_copies(map, where, around), take_job_pods(map, around);
  // LeaderWorkerSet, RoleBasedGroup, AIBrix's StormService, KServe's and Dynamo's engines on several nodes, Ray's
  // clusters: ranks lie on more pods than one
  for (const char* key : {"leaderWorkerTemplate", "leaderWorkerSet", "worker", "workerSpec", "multinode",
           "workerGroupSpecs", "raySpec", "podGroupSize"})
    if (const YamlNode* part = map.find(key); part != nullptr && text_of(part) != "false" && text_of(part) != "1")
      around.host.several = true;
  if (const std::int64_t gpus = gpus_of_service(map); gpus > 0) around.host.count = gpus;
  take_node_labels(map, around);
  take_group(map, around);
  compare_pods(map, where, around);
  if (const PoolRole role = role_of_part(map); role != PoolRole::whole) around.role = role;
  if (const YamlNode* sizes = map.find("parallelism")) around.parallelism = sizes;
  const std::string named = text_of(child(map.find("metadata"), "name")), own = text_of(map.find("name"));
  const bool part_of_list =
      map.find("podTemplate") != nullptr || map.find("spec") != nullptr || map.find("template") != nullptr;
  if (!named.empty()) around.part = named;
  else if (part_of_list && !own.empty()) around.part = own;
}

}  // namespace stepcast::engines
