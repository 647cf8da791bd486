// Whole YAML files as arguments. The YAML library stays behind this file.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "calibrate/import/config/config_text.h"
#include "model/base/yaml_documents.h"

namespace stepcast {
namespace {

// Anchors let a short text stand for an exponential tree; real configurations have a few hundred values.
constexpr std::size_t most_config_nodes = 100'000;
constexpr int deepest_config = 64;

class YamlArguments {
 public:
  explicit YamlArguments(const std::string& where) : where_(where) {}

  void take_document(const YAML::Node& node) {
    if (node.IsMap())
      take_map(node, "", "", 0);
    else if (!node.IsNull())
      refuse(node.Mark(), "no names with values", "name: value");
  }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] std::vector<GivenArgument> arguments() { return std::move(out_); }

 private:
  static std::size_t line_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(0, mark.line)) + 1; }

  void refuse(const YAML::Mark& mark, std::string what, std::string hint) {
    if (!failure_) failure_ = Error{fmt::format("{}:{}", where_, line_of(mark)), std::move(what), std::move(hint)};
  }

  bool enter(const YAML::Node& node, int depth) {
    if (failure_) return false;
    if (depth > deepest_config)
      return refuse(node.Mark(), fmt::format("more than {} levels", deepest_config), "a configuration has a few"),
             false;
    if (++nodes_ > most_config_nodes)
      return refuse(node.Mark(), fmt::format("more than {} values", most_config_nodes),
                    "anchors may have multiplied them"),
             false;
    return true;
  }

  /// Keys of the map itself go before those that it merges in.
  void take_map(const YAML::Node& map, const std::string& name, const std::string& spelled, int depth) {
    std::set<std::string> own;
    for (const auto& entry : map)
      if (entry.first.IsScalar() && entry.first.Scalar() != "<<" && !own.insert(entry.first.Scalar()).second)
        refuse(entry.first.Mark(), fmt::format("a second '{:.40}'", entry.first.Scalar()), "keep one");
    for (const auto& entry : map) {
      if (!enter(map, depth)) return;
      if (!entry.first.IsScalar()) return refuse(map.Mark(), "a key that is no plain word", "name: value");
      const std::string& key = entry.first.Scalar();
      if (key == "<<")
        merge(entry.second, own, name, spelled, depth + 1);
      else
        take_entry(key, entry.first.Mark(), entry.second, name, spelled, depth);
    }
  }

  void merge(const YAML::Node& others, std::set<std::string>& own, const std::string& name, const std::string& spelled,
             int depth) {
    if (others.IsSequence()) {
      for (const auto& other : others)
        if (enter(other, depth)) merge(other, own, name, spelled, depth + 1);
      return;
    }
    if (!others.IsMap()) return;
    for (const auto& entry : others) {
      if (!enter(others, depth) || !entry.first.IsScalar()) return;
      const std::string& key = entry.first.Scalar();
      if (key == "<<")
        merge(entry.second, own, name, spelled, depth + 1);
      else if (own.insert(key).second)
        take_entry(key, entry.first.Mark(), entry.second, name, spelled, depth);
    }
  }

  void take_entry(const std::string& key, const YAML::Mark& mark, const YAML::Node& value, const std::string& name,
                  const std::string& spelled, int depth) {
    if (key.starts_with('_')) return;
    const std::string dot = name.empty() ? "" : ".";
    take_value(value, name + dot + argument_name(key), spelled + dot + key, line_of(mark), depth + 1);
  }

  void take_value(const YAML::Node& node, const std::string& name, const std::string& spelled, std::size_t line,
                  int depth) {
    if (!enter(node, depth)) return;
    if (node.IsMap()) return take_map(node, name, spelled, depth);
    if (node.IsSequence()) return take_list(node, name, spelled, line, depth);
    out_.push_back({name, spelled, node.IsScalar() ? node.Scalar() : "null", line, {}});
  }

  /// As written for a list of values: "[1, 2]", or joined by blanks where each has its line.
  void take_list(const YAML::Node& list, const std::string& name, const std::string& spelled, std::size_t line,
                 int depth) {
    const bool flow = list.Style() == YAML::EmitterStyle::Flow;
    std::string joined;
    std::size_t index = 0;
    for (const auto& item : list) {
      if (item.IsScalar())
        joined += (joined.empty() ? "" : flow ? ", " : " ") + item.Scalar();
      else
        take_value(item, fmt::format("{}.{}", name, index), fmt::format("{}.{}", spelled, index), line_of(item.Mark()),
                   depth + 1);
      ++index;
      if (failure_ || !enter(item, depth)) return;
    }
    if (!joined.empty() || index == 0)
      out_.push_back({name, spelled, flow || index == 0 ? "[" + joined + "]" : joined, line, {}});
  }

  const std::string& where_;
  std::size_t nodes_ = 0;
  std::optional<Error> failure_;
  std::vector<GivenArgument> out_;
};

}  // namespace

Expected<std::vector<GivenArgument>> yaml_arguments(std::string_view text, const std::string& where) {
  YamlArguments reader(where);
  const std::string whole(text);
  try {
    if (const std::size_t line = YamlDocuments::too_many(whole); line > 0)
      return fail(fmt::format("{}:{}", where, line), "not YAML: no name or value begins here", "name: value");
    for (const YAML::Node& document : YAML::LoadAll(whole)) reader.take_document(document);
  } catch (const YAML::Exception& problem) {  // the library's way to report; goes no further
    return fail(fmt::format("{}:{}", where, std::max(0, problem.mark.line) + 1), "not YAML: " + problem.msg,
                "name: value, by their indentation");
  }
  if (reader.failure()) return tl::unexpected(*reader.failure());
  std::vector<GivenArgument> arguments = reader.arguments();
  resolve_references(arguments);
  return arguments;
}

}  // namespace stepcast
