#include "studies/engines/deployment/script_task.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/base/whole_number.h"
#include "studies/engines/deployment/surroundings.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;

const YamlNode* below(const YamlNode& node, const char* key, const char* inner) {
  const YamlNode* child = node.find(key);
  return child == nullptr ? nullptr : child->find(inner);
}

struct AskedGpus {
  std::string kind, count;  ///< "": not told, or one of several
};
/// "H100:8", "H100", {H100: 8}; a list or a map of several is a choice.
AskedGpus asked_gpus(const YamlNode* told) {
  if (told == nullptr) return {};
  if (told->kind == Kind::list) return told->items.size() == 1 ? asked_gpus(&told->items[0]) : AskedGpus{};
  if (told->kind == Kind::map && told->entries.size() != 1) return {};
  const YamlNode& one = told->kind == Kind::map ? told->entries[0] : *told;
  std::string text = told->kind == Kind::map ? one.key : one.text;
  if (told->kind == Kind::map && one.kind == Kind::scalar) text += ":" + one.text;
  const std::size_t colon = text.find(':');
  const std::string count = colon == text.npos ? "1" : text.substr(colon + 1);
  return {text.substr(0, colon), count.substr(0, count.find_first_not_of("0123456789"))};
}

std::int64_t number_of(const AskedGpus& gpus) { return parsed_number<std::int64_t>(gpus.count).value_or(0); }

ScriptTask task_of(const YamlNode& script) {
  ScriptTask task;
  task.script = script.text;
  task.line = static_cast<std::size_t>(std::max(0, script.position.line));
  return task;
}

/// Baseten's config.yaml (docs.baseten.co, "Truss configuration").
std::optional<ScriptTask> truss(const YamlNode& document) {
  const YamlNode* script = below(document, "docker_server", "start_command");
  if (script == nullptr || script->kind != Kind::scalar) return std::nullopt;
  ScriptTask task = task_of(*script);
  task.image = text_of(below(document, "base_image", "image"));
  const YamlNode* accelerator = below(document, "resources", "accelerator");
  task.host.kind = text_of(accelerator), task.host.count = number_of(asked_gpus(accelerator));
  return task;
}

/// A task of SkyPilot, or a service of such (skypilot-org/skypilot: sky/skylet/constants.py, docs, "SkyServe").
std::optional<ScriptTask> skypilot(const YamlNode& document, const std::string& where) {
  const YamlNode *script = document.find("run"), *resources = document.find("resources"),
                 *service = document.find("service");
  if (script == nullptr || script->kind != Kind::scalar || resources == nullptr) return std::nullopt;
  ScriptTask task = task_of(*script);
  task.image = text_of(resources->find("image_id"));
  const AskedGpus gpus = asked_gpus(resources->find("accelerators"));
  task.host.kind = gpus.kind;
  if (!gpus.count.empty()) task.variables["SKYPILOT_NUM_GPUS_PER_NODE"] = gpus.count;
  const std::string nodes = text_of(document.find("num_nodes"));
  task.variables["SKYPILOT_NUM_NODES"] = nodes.empty() ? "1" : nodes;
  const bool one = nodes.empty() || nodes == "1", asks = task.script.find("SKYPILOT_N") != std::string::npos;
  task.host.count = number_of(gpus), task.host.several = !one;
  if (!one && !asks)
    task.copies.open = fmt::format("{}:{} num_nodes {:.40}: the script runs on each of them", where,
        document.find("num_nodes")->position.line, nodes);
  if (service == nullptr) return task;
  multiply(service->find("replicas"), where, task.copies);
  if (const YamlNode* policy = service->find("replica_policy"))
    take_range(*policy, "", where, NoMaximum::is_least, task.copies);
  return task;
}

}  // namespace

bool looks_like_script_task(const std::string& text) {
  return has_line(text, "docker_server:") || (has_line(text, "run:") && has_line(text, "accelerators:"));
}

std::optional<ScriptTask> script_task(const YamlNode& document, const std::string& where) {
  if (auto task = truss(document)) return task;
  return skypilot(document, where);
}

}  // namespace stepcast::engines
