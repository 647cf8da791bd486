// yaml-cpp's nodes into the plain tree.
#include "dataflow/translate/yaml_tree.h"

#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "model/base/yaml_documents.h"

namespace stepcast {
namespace {

// Anchors let a short text stand for an exponential tree; real files have a few thousand nodes.
constexpr std::size_t most_yaml_nodes = 1'000'000;

class YamlCopy {
 public:
  explicit YamlCopy(const std::string& file) : file_(file) {}

  YamlNode copy(const YAML::Node& node) {
    YamlNode out;
    out.position = at(node.Mark());
    if (failure_ || ++nodes_ > most_yaml_nodes) {
      refuse(out.position, fmt::format("more than {} nodes", most_yaml_nodes), "anchors may have multiplied them");
      return out;
    }
    if (node.Tag().size() > 1 && node.Tag().front() == '!') out.tag = node.Tag();
    if (node.IsScalar()) copy_scalar(node, out);
    if (node.IsSequence()) copy_list(node, out);
    if (node.IsMap()) copy_map(node, out);
    return out;
  }

  void refuse(const Position& where, std::string what, std::string hint) {
    if (!failure_)
      failure_ = Error{fmt::format("{}:{}:{}", file_, where.line, where.column), std::move(what), std::move(hint)};
  }
  [[nodiscard]] Position at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  static void copy_scalar(const YAML::Node& node, YamlNode& out) {
    out.kind = YamlNode::Kind::scalar;
    out.text = node.Scalar();
  }
  void copy_list(const YAML::Node& node, YamlNode& out) {
    out.kind = YamlNode::Kind::list;
    for (const auto& item : node) out.items.push_back(copy(item));
  }
  void copy_map(const YAML::Node& node, YamlNode& out) {
    out.kind = YamlNode::Kind::map;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return refuse(at(entry.first.Mark()), "a key that is no plain word", {});
      const std::string& key = entry.first.Scalar();
      if (out.find(key)) return refuse(at(entry.first.Mark()), fmt::format("key '{}' stands twice", key), "keep one");
      YamlNode value = copy(entry.second);
      if (value.kind == YamlNode::Kind::null) value.position = at(entry.first.Mark());
      out.entries.emplace_back(key, std::move(value));
    }
  }

  const std::string& file_;
  std::size_t nodes_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, node] : entries)
    if (name == key) return &node;
  return nullptr;
}

Expected<std::vector<YamlNode>> read_yaml(const std::string& text, const std::string& file) {
  YamlCopy copy(file);
  std::vector<YamlNode> documents;
  try {
    if (const std::size_t line = YamlDocuments::too_many(text); line > 0)
      return fail(fmt::format("{}:{}", file, line), "not YAML: no name or value begins here", "name: value");
    for (const YAML::Node& document : YAML::LoadAll(text)) documents.push_back(copy.copy(document));
  } catch (const YAML::Exception& problem) {  // the library's way to report; goes no further
    const Position where = copy.at(problem.mark);
    return fail(fmt::format("{}:{}:{}", file, where.line, where.column), "not YAML: " + problem.msg);
  }
  if (copy.failure()) return tl::unexpected(*copy.failure());
  return documents;
}

}  // namespace stepcast
