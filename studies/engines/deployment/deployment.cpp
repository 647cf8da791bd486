#include "studies/engines/deployment/deployment.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/errors/error_context.h"
#include "model/machine/gpu_words.h"
#include "model/yaml/yaml.h"
#include "studies/engines/deployment/values.h"
#include "studies/engines/deployment/model_service.h"
#include "studies/engines/deployment/script_task.h"
#include "studies/engines/deployment/surroundings.h"
#include "studies/launch/jobs/compose_text.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;
using Variables = std::map<std::string, std::string>;

constexpr std::array shells = {"sh", "bash", "ash", "dash"};

/// "/bin/sh -c", "bash -lc": what stands behind is a script.
bool is_shell(std::string_view word) { return std::ranges::find(shells, last_of_path(word)) != shells.end(); }

/// A list of words, or one text that a shell would cut.
std::vector<ShellWord> words_of(const YamlNode* node) {
  std::vector<ShellWord> words;
  if (node == nullptr) return words;
  const auto add = [&](const YamlNode& one) {
    words.push_back({.text = one.text, .line = static_cast<std::size_t>(std::max(0, one.position.line)), .unset = {}});
  };
  if (node->kind == Kind::scalar) add(*node);
  for (const YamlNode& item : node->items)
    if (item.kind == Kind::scalar) add(item);
  return words;
}

/// $(NAME) of Kubernetes and ${NAME} of compose, from the container's environment.
void put_in(std::string& text, const Variables& environment) {
  for (const auto& [open, close] : {std::pair{std::string("$("), ')'}, std::pair{std::string("${"), '}'}})
    for (std::size_t at = text.find(open); at != text.npos; at = text.find(open, at)) {
      const std::size_t end = text.find(close, at);
      if (end == text.npos) break;
      const auto value = environment.find(text.substr(at + 2, end - at - 2));
      if (value == environment.end()) {
        at = end;
        continue;
      }
      text.replace(at, end + 1 - at, value->second);
      at += value->second.size();
    }
}

/// $(NAME) that nothing set, which Kubernetes hands on as it is; "$$(NAME)" is meant so.
void note_open(ShellWord& word) {
  for (std::size_t at = word.text.find("$("); at != std::string::npos; at = word.text.find("$(", at + 2)) {
    const std::size_t end = word.text.find(')', at);
    if (end == std::string::npos) return;
    const std::string name = word.text.substr(at + 2, end - at - 2);
    const bool is_name = !name.empty() && std::ranges::all_of(name, is_shell_name);
    if (is_name && (at == 0 || word.text[at - 1] != '$')) word.unset.push_back(name);
  }
}

class ContainerReader {
 public:
  ContainerReader(const std::string& where, const Variables& defined) : where_(where), defined_(defined) {}

  std::vector<EngineLine> lines;
  std::vector<ShellFile> files;          ///< of ConfigMaps
  std::map<std::string, Copies> scaled;  ///< by autoscalers beside them

  Expected<void> document(const YamlNode& root) {
    compose_ = launch::is_compose_file(root), manifest_ = root.find("apiVersion") != nullptr;
    const YamlNode* artifacts = root.find(chart_model_key);
    model_ = artifacts == nullptr ? "" : chart_model(*artifacts);
    if (text_of(root.find("kind")) == "ConfigMap") take_files(root);
    planned_ = planner_of(root, where_);
    const YamlNode* metadata = root.find("metadata");
    const auto told = scaled.find(metadata == nullptr ? "" : text_of(metadata->find("name")));
    scaled_ = told == scaled.end() ? nullptr : &told->second;
    TRY(task(root));
    if (artifacts == nullptr) return walk(root, {});
    for (const YamlNode& entry : root.entries)
      if (text_of(entry.find("create")) != "false") {
        Surroundings around;
        around.part = entry.key;
        TRY(walk(entry, std::move(around)));
      }
    return {};
  }

 private:
  Expected<void> walk(const YamlNode& node, Surroundings around) {
    if (node.kind == Kind::map) {
      go_inside(node, where_, around);
      TRY(container(node, around));
    }
    for (const YamlNode& item : node.items) TRY(walk(item, around));
    for (const YamlNode& entry : node.entries) {
      Surroundings inside = around;
      if (parts_parent(node)) inside.part = entry.key;
      TRY(walk(entry, std::move(inside)));
    }
    return {};
  }

  Expected<void> task(const YamlNode& root) {
    const auto found = script_task(root, where_, defined_);
    if (!found) return {};
    Surroundings around;
    around.host = found->host, around.copies = found->copies;
    pod_ = {.kind = "", .vendor = std::string(vendor_of(found->image))};
    chip_ = other_chip(found->host.kind), release_ = release_of_image(found->image);
    return script(found->script, found->line, environment_of(root, around), around);
  }

  /// Keys whose entries are parts with names of their own.
  static bool parts_parent(const YamlNode& node) { return node.key == "services" || node.key == "workers"; }

  /// Each key of a ConfigMap is a file where it is mounted. Two of one name cannot be told apart here.
  void take_files(const YamlNode& map) {
    const YamlNode* data = map.find("data");
    if (data == nullptr) return;
    for (const YamlNode& entry : data->entries) {
      const auto same = std::ranges::find(files, entry.key, &ShellFile::name);
      if (same == files.end())
        files.push_back(
            {.name = entry.key, .text = entry.text, .line = static_cast<std::size_t>(entry.key_line), .unset = {}});
      else if (same->text != entry.text) same->name.clear();
    }
  }

  Variables environment_of(const YamlNode& node, const Surroundings& around) const {
    Variables environment = defined_;
    environment.insert(around.variables.begin(), around.variables.end());
    if (around.parallelism != nullptr) put_chart_sizes(*around.parallelism, environment);
    for (const char* key : {"env", "envs", "environment", "environment_variables"}) {
      const YamlNode* list = node.find(key);
      if (list == nullptr) continue;
      for (const YamlNode& entry : list->entries)
        if (entry.kind == Kind::scalar) environment.emplace(entry.key, entry.text);
      for (const YamlNode& item : list->items) {
        const YamlNode *name = item.find("name"), *value = item.find("value");
        if (name != nullptr && value != nullptr) environment.emplace(name->text, value->text);
        const std::size_t equals = item.text.find('=');
        if (item.kind == Kind::scalar && equals != item.text.npos)
          environment.emplace(item.text.substr(0, equals), item.text.substr(equals + 1));
      }
    }
    return environment;
  }

  /// "--nnodes 2" and "--nnodes=2": pods of so many are one engine.
  static bool says_nodes(const EngineLine& line, std::string_view count) {
    constexpr std::string_view option = "--nnodes";
    for (std::size_t at = 0; at < line.words.size(); ++at) {
      const std::string_view word = line.words[at].text;
      if (word == option && at + 1 < line.words.size() && line.words[at + 1].text == count) return true;
      if (word.starts_with(option) && word.substr(option.size()) == "=" + std::string(count)) return true;
    }
    return false;
  }

  /// Why it is not known how often a part stands; "": it is.
  [[nodiscard]] std::string open_copies(const EngineLine& line, const Surroundings& around) const {
    if (scaled_ != nullptr) return scaled_->open;
    if (!around.copies.open.empty()) return around.copies.open;
    if (!around.job_pods.empty() && !says_nodes(line, around.job_pods))
      return fmt::format("{}:{} {:.20} pods of a Job run side by side: whether each is an engine is not told", where_,
          around.job_line, around.job_pods);
    return planned_.empty() ? line.open_copies : planned_;
  }

  /// A part without replicas is not started.
  void take(std::vector<EngineLine> found, const Variables& environment, const Surroundings& around) {
    for (EngineLine& line : found) {
      if (line.program == nullptr || around.copies.count == 0) continue;
      if (!chip_.empty()) line.chip = chip_;
      if (line.release.empty()) line.release = release_;
      line.host = within(line.host, within(around.host, pod_));
      line.open_copies = open_copies(line, around);
      for (const auto& [name, value] : environment) line.environment.emplace(name, value);
      line.part = around.part, line.copies = scaled_ == nullptr ? around.copies.count : scaled_->count;
      line.role = around.role;
      if (!around.unlike.empty()) line.unfollowed.push_back(around.unlike);
      lines.push_back(std::move(line));
    }
  }

  Expected<void> script(
      const std::string& text, std::size_t first_line, const Variables& environment, const Surroundings& around) {
    TRY(auto found, shell_lines(text, where_, environment));
    for (EngineLine& line : found) {
      const std::size_t before = first_line > 0 ? first_line - 1 : 0;
      line.line += before;
      for (ShellWord& word : line.words) word.line += before;
    }
    take(std::move(found), environment, around);
    return {};
  }

  Expected<void> container(const YamlNode& node, const Surroundings& around) {
    const YamlNode *command = node.find("command"), *args = node.find("args"), *entry = node.find("entrypoint"),
                   *image = node.find("image");
    std::vector<ShellWord> words = chart_words(node, model_, around.parallelism);
    if (command == nullptr && args == nullptr && entry == nullptr && words.empty()) return {};
    const Variables environment = environment_of(node, around);
    chip_ = chip_of(node), pod_ = gpus_of_container(node);
    release_ = image == nullptr ? "" : release_of_image(image->text);
    const bool made = !words.empty();  // by llm-d's chart
    for (const YamlNode* more : {entry, made ? nullptr : command, args})
      for (ShellWord& word : words_of(more)) words.push_back(std::move(word));
    if (words.empty()) return {};
    if (compose_ && launch::has_compose_text(node)) return compose_command(node, image, environment, around);
    TRY(check_words(node, {command, args}, made));
    for (ShellWord& word : words) put_in(word.text, environment);
    // "sh -c SCRIPT", and one text that holds the whole command
    if (words.size() > 2 && is_shell(words[0].text) && words[1].text.starts_with('-') && words[1].text.ends_with('c')) {
      const ShellWord& said = words[words[2].text == "--" && words.size() > 3 ? 3 : 2];
      return script(said.text, said.line, environment, around);
    }
    const bool one_text = words.size() == 1 && words[0].text.find(' ') != std::string::npos;
    if (one_text) return script(with_image(words[0].text, image), words[0].line, environment, around);
    if (manifest_) std::ranges::for_each(words, note_open);
    EngineLine line = line_of_words(words, where_);
    if (line.program == nullptr && image != nullptr && command == nullptr)
      if (const EngineProgram* program = program_of_image(image->text)) line.program = program, line.words = words;
    // compose has the image's arguments under "command"
    if (line.program == nullptr && image != nullptr && args == nullptr && !words.empty() &&
        words[0].text.starts_with("-"))
      if (const EngineProgram* program = program_of_image(image->text)) line.program = program, line.words = words;
    if (line.program != nullptr && line.line == 0 && !words.empty()) line.line = words.front().line;
    take({std::move(line)}, environment, around);
    return {};
  }

  /// Compose cuts a text into words itself.
  Expected<void> compose_command(
      const YamlNode& node, const YamlNode* image, const Variables& environment, const Surroundings& around) {
    TRY(const std::string text, launch::compose_text(node, where_));
    return script(with_image(text, image), launch::compose_line(node), environment, around);
  }

  /// Kubernetes takes lists alone, and hands each of their words on as it is.
  Expected<void> check_words(const YamlNode& node, std::initializer_list<const YamlNode*> told, bool made) const {
    const YamlNode* image = node.find("image");
    if (compose_ || image == nullptr || image->kind != Kind::scalar) return {};
    for (const YamlNode* one : told) {
      if (one == nullptr) continue;
      const std::string place = fmt::format("{}:{} {}", where_, one->position.line, one->key);
      if (manifest_ && one->kind == Kind::scalar && !one->text.empty())
        return fail(place, "a text, and Kubernetes takes a list of words here", "a list: - --model");
      if (!made && one->items.size() == 1 && one->items[0].text.starts_with("-") &&
          one->items[0].text.find_first_of(" \n") < one->items[0].text.find('=') &&
          program_of_image(image->text) != nullptr && one->items[0].text.find('{') == std::string::npos)
        return fail(place, fmt::format("'{:.40}...' is one word with blanks, which no shell cuts", one->items[0].text),
            "each option and each value as an item of the list, or command: [sh, -c]");
    }
    return {};
  }

  /// One text of options alone is told to the image's program.
  static std::string with_image(const std::string& text, const YamlNode* image) {
    if (image == nullptr || !text.starts_with("-") || program_of_image(image->text) == nullptr) return text;
    return "vllm serve " + text;
  }

  std::string where_;
  Variables defined_;
  const Copies* scaled_ = nullptr;                ///< of a document
  std::string model_, planned_, chip_, release_;  ///< two of a document; two of a container and its image
  HostGpus pod_;                                  ///< that a container is given
  bool compose_ = false, manifest_ = false;       ///< whose document it is: Compose's, or Kubernetes'
};

}  // namespace

bool looks_like_deployment(const std::string& text) {
  return (has_line(text, "apiVersion:") && has_line(text, "kind:")) || has_line(text, "containers:") ||
         (has_line(text, "services:") && (has_line(text, "image:") || has_line(text, "command:"))) ||
         looks_like_values(text) || looks_like_script_task(text);
}

namespace {

/// Actions of Helm's templates that become more than a value, so that a text with them is no YAML yet
/// (helm.sh/docs/chart_template_guide/control_structures).
constexpr std::string_view helm_actions[] = {"if ", "else", "end", "range ", "with ", "define ", "block ", "include ",
    "template ", "tpl ", "toYaml ", ".", "$", "/*"};

/// The first line with one; 0: there is none.
std::size_t helm_line(const std::string& text) {
  std::size_t line = 1;
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    if (text[at] == '\n') ++line;
    if (text.compare(at, 2, "{{") != 0) continue;
    const std::size_t word = text.find_first_not_of("- ", at + 2);
    if (word == text.npos) return 0;
    const std::string_view action = std::string_view(text).substr(word);
    if (std::ranges::any_of(helm_actions, [&](std::string_view one) { return action.starts_with(one); })) return line;
  }
  return 0;
}

}  // namespace

Expected<std::vector<EngineLine>> deployment_lines(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined) {
  const auto documents = read_yaml(text, where);
  if (!documents) {
    const Error& error = documents.error().error();
    if (const std::size_t line = helm_line(text); line > 0)
      return fail(fmt::format("{}:{}", where, line),
          "a template of a Helm chart, which is no manifest before it is filled in",
          "what `helm template CHART -f values.yaml` prints, or the chart's values file");
    return tl::unexpected(error.where.empty() ? error_at(where, error) : error);
  }
  ContainerReader reader(where, defined);
  reader.scaled = scaled_parts(*documents, where);
  for (const YamlNode& document : *documents) {
    TRY(reader.document(document));
    for (EngineLine& line : value_lines(document, where)) reader.lines.push_back(std::move(line));
  }
  for (EngineLine& line : reader.lines) line.files.insert(line.files.end(), reader.files.begin(), reader.files.end());
  return std::move(reader.lines);
}

}  // namespace stepcast::engines
