#include "studies/launch/jobs/pod_script.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/contains.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/jobs/pods.h"

namespace stepcast::launch {
namespace {

/// $(NAME), which Kubernetes puts in itself before the command starts; the last value of a name counts.
void put_in(std::string& text, const PodVariables& variables) {
  for (const auto& [name, value] : std::views::reverse(variables))
    for (std::size_t at = text.find("$(" + name + ")"); at != text.npos; at = text.find("$(" + name + ")", at)) {
      text.replace(at, name.size() + 3, value);
      at += value.size();
    }
}

struct Words {
  std::vector<std::string> texts;
  std::vector<int> lines;
};

void add_words(const YamlNode* node, const PodVariables& variables, Words& out) {
  if (node == nullptr) return;
  const auto add = [&](const YamlNode& word) {
    if (word.kind != YamlNode::Kind::scalar) return;
    out.texts.push_back(word.text);
    // A block begins on the line below its sign.
    out.lines.push_back(word.position.line + (!word.quoted && contains(word.text, '\n') ? 1 : 0));
    put_in(out.texts.back(), variables);
  };
  add(*node);
  for (const YamlNode& item : node->items) add(item);
}

bool is_shell(std::string_view word) {
  constexpr std::array shells = {"sh", "bash", "ash", "dash", "zsh"};
  return contains(shells, last_of_path(word));
}

/// "bash -c SCRIPT": the place of the script among the words; 0: none.
std::size_t script_of(const Words& words) {
  if (words.texts.empty() || !is_shell(words.texts.front())) return 0;
  for (std::size_t i = 1; i + 1 < words.texts.size() && words.texts[i].starts_with('-'); ++i)
    if (!words.texts[i].starts_with("--") && words.texts[i].ends_with('c'))
      return words.texts[i + 1] == "--" && i + 2 < words.texts.size() ? i + 2 : i + 1;
  return 0;
}

/// What a container runs, below an environment on the first line; each line of it where the manifest has it.
std::string script_text(const Words& words, const PodVariables& variables) {
  const std::size_t script = script_of(words);
  const bool one = words.texts.size() == 1;
  std::string text;
  for (const auto& [name, value] : variables) text += fmt::format("export {}={}; ", name, shell_word(value));
  if (script > 0 && words.texts.size() > script + 2) {  // behind the script: $0, $1, ...
    text += "set --";
    for (std::size_t i = script + 2; i < words.texts.size(); ++i) text += ' ' + shell_word(words.texts[i]);
    text += "; ";
  }
  const int line = words.lines[script];
  text += std::string(static_cast<std::size_t>(std::max(1, line - 1)), '\n');
  if (script > 0 || one) return text + words.texts[script] + '\n';
  for (const std::string& word : words.texts) text += shell_word(word) + ' ';
  return text + '\n';
}

}  // namespace

Expected<std::string> script_of_container(
    const YamlNode& container, const PodVariables& variables, const std::string& where) {
  Words words;
  add_words(container.find("command"), variables, words);
  add_words(container.find("args"), variables, words);
  if (words.texts.empty())
    return fail(place_in_manifest(where, container), "the container runs what its image does, which is not told",
        "command: and args: of the manifest, or the launch itself");
  return script_text(words, variables);
}

std::string script_of_entrypoint(const YamlNode& entrypoint) {
  Words words;
  add_words(&entrypoint, {}, words);
  return script_text(words, {});
}

std::string alike_on_all_nodes(const std::string& script) {
  std::string out;
  std::ranges::copy_if(script, std::back_inserter(out), [](char c) { return c != '\n'; });
  for (const std::string_view name : {"--node_rank", "--node-rank", "--machine_rank"})
    for (std::size_t at = out.find(name); at != out.npos; at = out.find(name, at)) {
      const std::size_t value = std::min(out.find_first_not_of("= '", at + name.size()), out.size());
      out.erase(at, std::min(out.find_first_of(" '\"", value), out.size()) - at);
    }
  return out;
}

}  // namespace stepcast::launch
