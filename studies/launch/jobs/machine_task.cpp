#include "studies/launch/jobs/machine_task.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::launch {
namespace {

using Kind = YamlNode::Kind;

/// dstackai/dstack@511c318c84: mkdocs/docs/concepts/tasks.md, mkdocs/docs/reference/env.md,
/// src/dstack/_internal/core/models/resources.py; skypilot-org/skypilot: sky/skylet/constants.py and its docs,
/// "SkyPilot YAML".
struct TaskKind {
  std::string_view kind;
  std::string_view commands, nodes, environment, gpus;  ///< keys; that of GPUs below "resources"
  std::string_view nodes_variable, gpus_variable, world_variable, rank_variable;
  std::int64_t usual_gpus;  ///< where only a name of GPUs is told; 0 = any number
};
constexpr TaskKind task_kinds[] = {{"dstack", "commands", "nodes", "env", "gpu", "DSTACK_NODES_NUM",
                                       "DSTACK_GPUS_PER_NODE", "DSTACK_GPUS_NUM", "DSTACK_NODE_RANK", 0},
    {"SkyPilot", "run", "num_nodes", "envs", "accelerators", "SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE", "",
        "SKYPILOT_NODE_RANK", 1}};

std::string task_text(const YamlNode* node) { return node != nullptr && node->kind == Kind::scalar ? node->text : ""; }

const TaskKind* kind_of_task(const YamlNode& document, bool services) {
  if (document.kind != Kind::map || document.find("apiVersion") != nullptr) return nullptr;
  const YamlNode *commands = document.find("commands"), *run = document.find("run");
  const std::string type = task_text(document.find("type"));
  if (commands != nullptr && commands->kind == Kind::list && (type == "task" || (services && type == "service")))
    return &task_kinds[0];
  const YamlNode* resources = document.find("resources");
  const bool asks = resources != nullptr && resources->find("accelerators") != nullptr;
  return asks && run != nullptr && run->kind == Kind::scalar ? &task_kinds[1] : nullptr;
}

/// "8", "H100:8", "nvidia:H100:80GB:8": what is only digits is a count, a range ("1..8") is none that is known.
void take_gpu_words(std::string_view text, const TaskKind& kind, MachineTask& task) {
  constexpr std::string_view vendors[] = {"nvidia", "amd", "google", "tpu", "intel", "tt", "tenstorrent"};
  task.gpus_per_node = kind.usual_gpus;
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string word = lower_case(stripped(text.substr(0, colon)));
    text.remove_prefix(std::min(colon + 1, text.size()));
    const bool letters = std::ranges::any_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!letters) task.gpus_per_node = parsed_number<std::int64_t>(word).value_or(0);
    else if (word[0] >= 'a' && word[0] <= 'z' && !contains(vendors, word) && word.find(',') == word.npos)
      task.gpu_kind = word;
  }
}

/// A choice of GPUs, of which it gets the cheapest: how many these are is told where it is the same of each.
void take_choice(const YamlNode& told, const TaskKind& kind, MachineTask& task) {
  std::vector<std::string> words;
  for (const YamlNode& item : told.items) words.push_back(task_text(&item));
  for (const YamlNode& entry : told.entries)
    words.push_back(entry.kind == Kind::scalar ? entry.key + ":" + entry.text : entry.key);
  std::optional<std::int64_t> count;
  for (const std::string& word : words) {
    MachineTask one;
    take_gpu_words(word, kind, one);
    count = !count || *count == one.gpus_per_node ? one.gpus_per_node : 0;
  }
  task.gpus_per_node = count.value_or(0);
}

void take_gpus(const YamlNode* told, const TaskKind& kind, MachineTask& task) {
  if (told == nullptr) return;
  if (told->kind == Kind::scalar) return take_gpu_words(told->text, kind, task);
  if (kind.kind == "SkyPilot" && told->items.size() + told->entries.size() > 1) return take_choice(*told, kind, task);
  if (told->kind != Kind::map) return;  // a list is a choice
  if (const YamlNode* count = told->find("count"); count != nullptr) {
    take_gpu_words(task_text(told->find("name")), kind, task);
    task.gpus_per_node = parsed_number<std::int64_t>(task_text(count)).value_or(0);
  } else if (told->entries.size() == 1 && told->find("name") == nullptr) {
    take_gpu_words(told->entries[0].key + ":" + task_text(&told->entries[0]), kind, task);
  }
}

/// What the service sets, then what the file does. Of several nodes the first one is followed.
std::vector<std::pair<std::string, std::string>> variables_of(
    const YamlNode& document, const TaskKind& kind, const MachineTask& task) {
  std::vector<std::pair<std::string, std::string>> set;
  if (task.nodes > 0) set.emplace_back(kind.nodes_variable, std::to_string(task.nodes));
  if (task.gpus_per_node > 0) set.emplace_back(kind.gpus_variable, std::to_string(task.gpus_per_node));
  constexpr std::int64_t most = 1'000'000;  // of both, far above any task
  if (task.nodes > 0 && task.nodes <= most && task.gpus_per_node > 0 && task.gpus_per_node <= most &&
      !kind.world_variable.empty())
    set.emplace_back(kind.world_variable, std::to_string(task.nodes * task.gpus_per_node));
  set.emplace_back(kind.rank_variable, "0");
  const YamlNode* environment = document.find(kind.environment);
  if (environment == nullptr) return set;
  for (const YamlNode& entry : environment->entries)
    if (entry.kind == Kind::scalar) set.emplace_back(entry.key, entry.text);
  for (const YamlNode& item : environment->items)
    if (const std::size_t equals = item.text.find('='); equals != item.text.npos)
      set.emplace_back(item.text.substr(0, equals), item.text.substr(equals + 1));
  return set;
}

/// A word that a shell takes as it is.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Each command on its lines of the file; a block begins on the line below its sign.
std::string script_of(const YamlNode& commands, const std::string& exports) {
  std::string script;
  int line = 1;
  const auto add = [&](const YamlNode& command) {
    const int begin = command.position.line + (contains(command.text, '\n') ? 1 : 0);
    for (; line < begin; ++line) script += '\n';
    if (script.find_first_not_of('\n') == script.npos) script += exports;
    script += command.text;
    if (!script.ends_with('\n')) script += '\n';
    line = 1 + static_cast<int>(std::ranges::count(script, '\n'));
  };
  if (commands.kind == Kind::scalar) add(commands);
  for (const YamlNode& command : commands.items)
    if (command.kind == Kind::scalar) add(command);
  return script;
}

}  // namespace

bool looks_like_machine_task(const std::string& text) {
  const bool dstack = text.find("commands:") != text.npos && text.find("type:") != text.npos;
  const bool skypilot = text.find("run:") != text.npos && text.find("accelerators:") != text.npos;
  return !text.starts_with("#!") && (dstack || skypilot);
}

std::optional<MachineTask> machine_task(
    const YamlNode& document, bool services, const std::map<std::string, std::string>& defined) {
  const TaskKind* kind = kind_of_task(document, services);
  if (kind == nullptr) return std::nullopt;
  MachineTask task;
  task.kind = kind->kind;
  if (const YamlNode* nodes = document.find(kind->nodes); nodes != nullptr)
    task.nodes = parsed_number<std::int64_t>(task_text(nodes)).value_or(0);
  if (const YamlNode* resources = document.find("resources"); resources != nullptr)
    take_gpus(resources->find(kind->gpus), *kind, task);
  std::string exports;
  for (const auto& [name, value] : variables_of(document, *kind, task))
    if (!defined.contains(name)) exports += fmt::format("export {}={}; ", name, in_quotes(value));
  task.script = script_of(*document.find(kind->commands), exports);
  return task;
}

}  // namespace stepcast::launch
