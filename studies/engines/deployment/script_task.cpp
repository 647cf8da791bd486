#include "studies/engines/deployment/script_task.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/base/whole_number.h"
#include "studies/engines/deployment/surroundings.h"
#include "studies/launch/jobs/machine_task.h"

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

/// Do its commands ask which node they run on, or how many there are?
bool tells_nodes_apart(const YamlNode& document) {
  const auto asks = [](const std::string& text) {
    return text.find("NODE_RANK") != text.npos || text.find("NUM_NODES") != text.npos ||
           text.find("NODES_NUM") != text.npos || text.find("SKYPILOT_NODE_IPS") != text.npos ||
           text.find("DSTACK_NODES_IPS") != text.npos || text.find("MASTER_NODE_IP") != text.npos;
  };
  if (const YamlNode* run = document.find("run"); run != nullptr && asks(run->text)) return true;
  const YamlNode* commands = document.find("commands");
  return commands != nullptr &&
         std::ranges::any_of(commands->items, [&](const YamlNode& command) { return asks(command.text); });
}

/// A task or a service of SkyPilot or dstack (SkyServe's docs; dstackai/dstack, mkdocs/docs/concepts/services.md).
std::optional<ScriptTask> on_machines(
    const YamlNode& document, const std::string& where, const std::map<std::string, std::string>& defined) {
  const auto found = launch::machine_task(document, true, defined);
  if (!found) return std::nullopt;
  ScriptTask task;
  task.script = found->script, task.line = 1;
  const YamlNode *image = document.find("image"), *resources = document.find("resources");
  if (image == nullptr && resources != nullptr) image = resources->find("image_id");
  task.image = text_of(image);
  task.host.kind = found->gpu_kind, task.host.count = found->gpus_per_node, task.host.several = found->nodes != 1;
  for (const char* key : {"num_nodes", "nodes"})
    if (const YamlNode* nodes = document.find(key);
        nodes != nullptr && task.host.several && !tells_nodes_apart(document))
      task.copies.open = fmt::format(
          "{}:{} {} {:.40}: the script runs on each of them", where, nodes->position.line, key, nodes->text);
  const YamlNode* service = document.find("service");
  if (service == nullptr) service = &document;
  if (const YamlNode* replicas = service->find("replicas"); replicas != nullptr && replicas->kind == Kind::scalar)
    multiply(replicas, where, task.copies);
  if (const YamlNode* policy = service->find("replica_policy"))
    take_range(*policy, "", where, NoMaximum::is_least, task.copies);
  return task;
}

}  // namespace

bool looks_like_script_task(const std::string& text) {
  return has_line(text, "docker_server:") || (has_line(text, "run:") && has_line(text, "accelerators:")) ||
         (has_line(text, "commands:") && has_line(text, "type:"));
}

std::optional<ScriptTask> script_task(
    const YamlNode& document, const std::string& where, const std::map<std::string, std::string>& defined) {
  if (auto task = truss(document)) return task;
  return on_machines(document, where, defined);
}

}  // namespace stepcast::engines
