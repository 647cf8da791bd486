#include "studies/engines/deployment/values.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "studies/engines/deployment/copies.h"
#include "studies/engines/deployment/surroundings.h"
#include "studies/engines/deployment/value_forms.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;

const YamlNode* at(const YamlNode& node, std::string_view path) {
  const YamlNode* here = &node;
  while (here != nullptr && !path.empty()) {
    const std::size_t slash = path.find('/');
    here = here->find(path.substr(0, slash));
    path = slash == path.npos ? "" : path.substr(slash + 1);
  }
  return here;
}

std::size_t line_of(const YamlNode& node) { return static_cast<std::size_t>(std::max(0, node.position.line)); }

/// "hf://Qwen/Qwen3-8B" is Qwen/Qwen3-8B; a claim of a volume is a folder.
std::string model_of(std::string text) {
  for (const std::string_view scheme : {std::string_view("hf://"), std::string_view("huggingface://")})
    if (text.starts_with(scheme)) return text.substr(scheme.size());
  const std::size_t scheme = text.find("://");
  return scheme == text.npos ? text : text.substr(scheme + 2);
}

/// Profiles of KubeAI's chart that have one GPU (kubeai-project/kubeai charts/kubeai/values.yaml).
constexpr std::string_view single_profiles[] = {"nvidia-gpu-t4", "nvidia-gpu-l4", "nvidia-gpu-l40s", "nvidia-gpu-h100",
    "nvidia-gpu-gh200", "nvidia-gpu-a100-80gb", "nvidia-gpu-a100-40gb", "nvidia-gpu-a16", "nvidia-gpu-rtx4070-8gb"};

class ValueReader {
 public:
  ValueReader(const YamlNode& part, const ValuesForm& form, const std::string& where)
      : part_(part), form_(form), where_(where) {}

  std::optional<EngineLine> read() {
    const YamlNode *mark = at(part_, form_.mark), *other = form_.other.empty() ? nullptr : at(part_, form_.other);
    const bool named = other != nullptr && other->kind == Kind::scalar && !other->text.empty();
    const YamlNode* model = named && (mark == nullptr || other->text.find('/') != std::string::npos) ? other : mark;
    const YamlNode* words = form_.may_name.empty() ? nullptr : at(part_, form_.may_name);
    const bool told = model != nullptr && model->kind == Kind::scalar && !model->text.empty();
    if ((!told && words == nullptr) || !needed()) return std::nullopt;
    if (!told) model = words;
    begin(*model, told);
    for (const ValueRow& row : form_.rows) take_row(row, *model);
    take_container();
    look_for_unknown();
    if (own_command_ || copies_.count == 0) return std::nullopt;
    EngineLine line = line_of_words(std::move(words_), where_);
    if (line.program == nullptr) return std::nullopt;
    line.line = line_of(*model);
    line.copies = copies_.count, line.open_copies = std::move(copies_.open);
    line.host = std::move(host_), line.chip = chip_, line.unfollowed = std::move(unfollowed_);
    line.environment = std::move(environment_);
    line.release = release_of_image(image_);
    if (const YamlNode* name = part_.find("name"); name != nullptr) line.part = name->text;
    return line;
  }

 private:
  [[nodiscard]] bool needed() const {
    if (form_.needs.empty()) return true;
    const YamlNode* value = at(part_, form_.needs);
    return value != nullptr && (form_.needed.empty() || lower_case(value->text) == form_.needed);
  }

  /// The program and its model, which its own words may name.
  void begin(const YamlNode& model, bool told) {
    std::string_view rest = form_.program;
    while (!rest.empty()) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      add(std::string(rest.substr(0, blank)), model);
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    if (told && !form_.may_name.empty()) add("--model=" + model_of(model.text), model);
    else if (told) add(model_of(model.text), model);
  }

  void add(std::string text, const YamlNode& from) {
    words_.push_back({.text = std::move(text), .line = line_of(from), .unset = {}});
  }

  void doubt(const YamlNode& value, const std::string& what) {
    unfollowed_.push_back(fmt::format("{}:{} {}", where_, std::max(0, value.position.line), what));
  }

  void add_words(const YamlNode& value) {
    if (value.kind == Kind::list)
      for (const YamlNode& item : value.items) {
        // a list may hold "--option value" in one text
        const std::size_t blank = item.text.starts_with("-") ? item.text.find(' ') : item.text.npos;
        add(item.text.substr(0, blank), item);
        if (blank != item.text.npos) add(item.text.substr(blank + 1), item);
      }
    else if (value.kind == Kind::scalar && !value.text.empty())
      doubt(value, fmt::format("'{:.60}' is one text in place of a list of words", value.text));
  }

  /// Of Ray: names of vLLM's own arguments. What stands in a map is --kv-transfer-config.kv_role VALUE.
  void add_options(const YamlNode& value, const std::string& above = "") {
    for (const YamlNode& entry : value.entries) {
      std::string name = above + entry.key;
      if (above.empty()) std::ranges::replace(name, '_', '-');
      const std::string text = entry.quoted || !above.empty() ? "" : lower_case(entry.text);
      const bool no = entry.kind == Kind::scalar && text == "false", yes = entry.kind == Kind::scalar && text == "true";
      if (entry.kind == Kind::map) add_options(entry, name + ".");
      if (entry.kind == Kind::list) doubt(entry, fmt::format("{} holds several values", name));
      if (entry.kind == Kind::scalar) add((no ? "--no-" : "--") + name, entry);
      if (entry.kind == Kind::scalar && !yes && !no) add(entry.text, entry);
    }
  }

  void take_row(const ValueRow& row, const YamlNode& model) {
    if (const YamlNode* value = at(part_, row.path)) return take(row, *value);
    const std::string_view parent = row.path.substr(0, row.path.find('/'));
    if (row.means == Means::yes_else && at(part_, parent) != nullptr) add("--no-" + std::string(row.option), model);
  }

  /// The container that runs the engine may have arguments, or a command, which is read as such.
  void take_container() {
    const YamlNode* told = form_.container.empty() ? nullptr : at(part_, form_.container);
    if (told == nullptr) return;
    if (told->kind == Kind::map) return take_surroundings(*told);
    for (const YamlNode& container : told->items) {
      const YamlNode* name = container.find("name");
      if (name == nullptr || name->text != "main") continue;
      own_command_ = container.find("command") != nullptr || container.find("args") != nullptr;
      take_surroundings(container);
    }
  }

  /// The last word of those that tell one.
  void take_vendor(std::string_view word) {
    if (const auto vendor = vendor_of(word); !vendor.empty()) host_.vendor = vendor;
  }

  void take_surroundings(const YamlNode& container) {
    const HostGpus given = gpus_of_container(container);
    host_.count = std::max(host_.count, given.count);
    if (!given.vendor.empty()) host_.vendor = given.vendor;
    if (std::string chip = chip_of(container); !chip.empty()) chip_ = std::move(chip);
    if (const YamlNode* variables = container.find("env")) take_variables(*variables);
  }

  /// A list of names and values, or a map of them.
  void take_variables(const YamlNode& variables) {
    for (const YamlNode& variable : variables.items) take_variable(variable);
    for (const YamlNode& variable : variables.entries)
      if (variable.kind == Kind::scalar) environment_[variable.key] = variable.text;
  }

  void take_variable(const YamlNode& variable) {
    const YamlNode *name = variable.find("name"), *value = variable.find("value");
    if (name == nullptr || value == nullptr) return;
    if (name->text != "VLLM_ADDITIONAL_ARGS" || form_.mark != "model/uri") {
      environment_[name->text] = value->text;
      return;
    }
    if (value->text.find_first_of("\"'$`") != std::string::npos)
      return doubt(*value, fmt::format("{} has quotes or variables", name->text));
    std::size_t begin = 0;
    while ((begin = value->text.find_first_not_of(" \t\n", begin)) != std::string::npos) {
      const std::size_t end = std::min(value->text.find_first_of(" \t\n", begin), value->text.size());
      add(value->text.substr(begin, end - begin), *value);
      begin = end;
    }
  }

  void take_scaled(const YamlNode& value, std::string_view enabled) {
    take_range(value, enabled, where_, enabled.empty() ? NoMaximum::is_least : NoMaximum::is_open, copies_);
  }

  void take_unless(const YamlNode& value, std::string_view disabled) {
    if (const YamlNode* off = value.find(disabled); off != nullptr && is_true(*off))
      multiply(value.find("replicas"), where_, copies_ = {});
    else take_range(value, "", where_, NoMaximum::is_open, copies_);
  }

  void take(const ValueRow& row, const YamlNode& value) {
    if (value.kind == Kind::null) return;
    const std::string option = "--" + std::string(row.option);
    switch (row.means) {
      case Means::value: add(option, value), add(value.text, value); break;
      case Means::yes_no:
      case Means::yes_else: add(is_true(value) ? option : "--no-" + std::string(row.option), value); break;
      case Means::if_true:
        if (is_true(value)) add(option, value);
        break;
      case Means::words: add_words(value); break;
      case Means::options: add_options(value); break;
      case Means::variable: environment_[std::string(row.option)] = is_true(value) ? "1" : "0"; break;
      case Means::zero_if_1:
        if (value.text == "1") environment_[std::string(row.option)] = "0";
        break;
      case Means::store:
        if (!is_true(value)) break;
        add("--kv-transfer-config", value);
        add(R"({"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"})", value);
        break;
      case Means::variables: take_variables(value); break;
      case Means::copies: multiply(&value, where_, copies_ = {}); break;
      case Means::scaled: take_scaled(value, row.option); break;
      case Means::scaled_unless: take_unless(value, row.option); break;
      case Means::one:
        if (const YamlNode* runs = value.find("enabled"); runs == nullptr || is_true(*runs))
          copies_ = {}, host_.several = true;
        break;
      case Means::starts:
        if (!is_true(value)) copies_.count = 0;
        break;
      case Means::refused: doubt(value, std::string(row.option)); break;
      case Means::gpus:
        host_.kind = value.text, host_.count = std::max(host_.count, units_of(value.text));
        take_vendor(value.text);
        if (chip_.empty()) chip_ = value.text.starts_with("cpu:") ? "the host's processors" : other_chip(value.text);
        break;
      case Means::image:
        if (std::string chip(other_chip(value.text)); !chip.empty()) chip_ = std::move(chip);
        take_vendor(value.text), image_ = value.text + image_;
        break;
      case Means::tag: image_ += ":" + value.text; break;
      case Means::held:
        host_.count = std::max<std::int64_t>(host_.count, parsed_number<std::int64_t>(value.text).value_or(0));
        break;
      case Means::several: host_.several = true; break;
      case Means::nothing: break;
    }
  }

  /// Entries of the form's strict parts that no row names.
  void look_for_unknown() {
    std::string_view rest = form_.strict;
    while (!rest.empty()) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      const std::string_view name = rest.substr(0, blank);
      rest.remove_prefix(std::min(blank + 1, rest.size()));
      const YamlNode* part = name == "." ? &part_ : at(part_, name);
      if (part == nullptr) continue;
      for (const YamlNode& entry : part->entries) {
        const std::string path = name == "." ? entry.key : std::string(name) + "/" + entry.key;
        const bool known = std::ranges::any_of(
            form_.rows, [&](const ValueRow& row) { return row.path == path || row.path.starts_with(path + "/"); });
        if (!known) doubt(entry, fmt::format("{} is not known", path));
      }
    }
  }

  /// "nvidia-gpu-h100:4" of KubeAI: four times what a profile has. What one's own has is not told.
  static std::int64_t units_of(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || !contains(single_profiles, text.substr(0, colon))) return 0;
    return std::max<std::int64_t>(0, parsed_number<std::int64_t>(text.substr(colon + 1)).value_or(0));
  }

  const YamlNode& part_;
  const ValuesForm& form_;
  const std::string& where_;
  std::vector<ShellWord> words_;
  std::vector<std::string> unfollowed_;
  std::map<std::string, std::string> environment_;
  std::string chip_, image_;
  HostGpus host_;             ///< of one pod
  bool own_command_ = false;  ///< which is read as a container's
  Copies copies_;
};

/// Keys of Ray's two pools: build_pd_openai_app of ray.serve.llm.
constexpr std::pair<std::string_view, PoolRole> role_keys[] = {
    {"prefill_config", PoolRole::prompts}, {"decode_config", PoolRole::tokens}};

void walk(const YamlNode& node, const std::string& where, PoolRole role, std::vector<EngineLine>& lines) {
  for (const auto& [key, told] : role_keys)
    if (node.key == key) role = told;
  // the production stack's chart starts no engine without it
  if (const YamlNode* engines = node.find("enableEngine"); engines != nullptr && !is_true(*engines)) return;
  if (node.kind == Kind::map)
    for (const ValuesForm& form : value_forms())
      if (auto line = ValueReader(node, form, where).read()) {
        line->role = role;
        lines.push_back(std::move(*line));
        return;
      }
  // Ray's file may stand as a text in that of Kubernetes.
  if (node.key == "serveConfigV2" && node.kind == Kind::scalar)
    if (const auto inside = read_yaml(node.text, where))
      for (const YamlNode& document : *inside) walk(document, where, role, lines);
  for (const std::vector<YamlNode>* children : {&node.items, &node.entries})
    for (const YamlNode& child : *children) walk(child, where, role, lines);
}

}  // namespace

bool looks_like_values(const std::string& text) {
  constexpr std::array marks = {
      "modelURL:", "model_loading_config:", "llm_configs:", "servingEngineSpec:", "resourceProfile:"};
  return !text.starts_with("#!") && std::ranges::any_of(marks, [&](const char* mark) { return has_line(text, mark); });
}

std::vector<EngineLine> value_lines(const YamlNode& document, const std::string& where) {
  std::vector<EngineLine> lines;
  walk(document, where, PoolRole::whole, lines);
  return lines;
}

}  // namespace stepcast::engines
