#include "model/yaml/yaml.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace stepcast {
namespace {

// Aliases let a short text stand for an exponential tree, or for an endless one where a list holds itself. Real files
// have a few thousand nodes on a dozen levels.
constexpr std::size_t most_yaml_nodes = 100'000;
constexpr int deepest_yaml = 64;
constexpr std::size_t most_yaml_text = std::size_t{16} << 20;  // as much as a file may have

/// Counts documents before they are kept: at a sign that begins no value (",a: 1"), the library hands out empty ones
/// without end.
class YamlDocuments : public YAML::EventHandler {
 public:
  static constexpr int most = 16;
  /// The line of one too many; 0 where they end before. Throws what the library throws.
  static int too_many(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    YamlDocuments documents;
    while (documents.count_ <= most && parser.HandleNextDocument(documents)) {
    }
    return documents.count_ > most ? documents.line_ : 0;
  }

  void OnDocumentStart(const YAML::Mark& mark) override { ++count_, line_ = std::max(0, mark.line) + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int count_ = 0, line_ = 0;
};

class YamlCopy {
 public:
  YamlCopy(const std::string& text, const std::string& file) : file_(file) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
  }

  YamlNode copy(const YAML::Node& node, int depth = 0) {
    YamlNode out;
    out.position = at(node.Mark());
    if (depth > deepest_yaml)
      refuse(out.position, fmt::format("more than {} levels", deepest_yaml), "an alias may stand inside its own value");
    if (++nodes_ > most_yaml_nodes)
      refuse(out.position, fmt::format("more than {} nodes", most_yaml_nodes), "anchors may have multiplied them");
    if (node.IsScalar() && (text_ += node.Scalar().size()) > most_yaml_text)
      refuse(out.position, fmt::format("more than {} MiB of text", most_yaml_text >> 20),
          "aliases may have multiplied it");
    if (failure_) return out;
    const std::string& tag = node.Tag();
    if (tag.size() > 1 && tag.front() == '!') out.tag = tag;
    if (node.IsScalar()) {
      out.kind = YamlNode::Kind::scalar;
      out.text = node.Scalar();
      out.quoted = tag == "!";
    }
    if (node.IsSequence()) {
      out.kind = YamlNode::Kind::list;
      out.flow = node.Style() == YAML::EmitterStyle::Flow;
      for (const auto& item : node) {
        out.items.push_back(copy(item, depth + 1));
        if (failure_) return out;
      }
    }
    if (auto open = placeholder_of(node)) {
      out.kind = YamlNode::Kind::scalar;
      out.text = std::move(*open);
    } else if (node.IsMap()) {
      copy_map(node, out, depth + 1);
    }
    return out;
  }

  [[nodiscard]] Position at(const YAML::Mark& mark) const {
    return {file_, std::max(0, mark.line) + 1, std::max(0, mark.column) + 1};
  }
  [[nodiscard]] const std::optional<TextError>& failure() const { return failure_; }

 private:
  void refuse(const Position& where, std::string what, std::string hint) {
    if (!failure_) failure_ = TextError{where, std::move(what), std::move(hint)};
  }

  /// "{{NAME}}" of a template that is still to be filled in: to YAML a map whose key is a map.
  static std::optional<std::string> placeholder_of(const YAML::Node& node) {
    const auto lone = [](const YAML::Node& one) {
      return one.IsMap() && one.size() == 1 && one.Style() == YAML::EmitterStyle::Flow && one.begin()->second.IsNull();
    };
    if (!lone(node) || !lone(node.begin()->first)) return std::nullopt;
    const YAML::Node name = node.begin()->first.begin()->first;
    if (!name.IsScalar()) return std::nullopt;
    return fmt::format("{{{{{}}}}}", name.Scalar());
  }

  /// Keys of the map itself go before those that it merges in.
  void copy_map(const YAML::Node& node, YamlNode& out, int depth) {
    out.kind = YamlNode::Kind::map;
    std::set<std::string> keys;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return refuse(at(entry.first.Mark()), "a key that is no plain word", "word: value");
      const std::string& key = entry.first.Scalar();
      if (!keys.insert(key).second && key != "<<")
        return refuse(at(entry.first.Mark()), fmt::format("key '{}' stands twice", key), "keep one");
    }
    for (const auto& entry : node) {
      YamlNode value = copy(entry.second, depth);
      if (failure_) return;
      if (entry.first.Scalar() == "<<") {
        merge(value, keys, out);
        continue;
      }
      const Position key = at(entry.first.Mark());
      if (value.kind == YamlNode::Kind::null) {
        value.position = key;
        if (node.Style() != YAML::EmitterStyle::Flow && !has_colon(key))
          return refuse(
              key, fmt::format("not YAML: '{:.60}' is a name without a value", entry.first.Scalar()), "name: value");
      }
      value.key = entry.first.Scalar(), value.key_line = key.line;
      out.entries.push_back(std::move(value));
    }
  }

  /// The library takes a line without a colon for a name.
  [[nodiscard]] bool has_colon(const Position& key) const {
    const auto line = static_cast<std::size_t>(key.line) - 1;
    return line >= lines_.size() || lines_[line].find(':') != std::string_view::npos;
  }

  static void merge(YamlNode& other, std::set<std::string>& keys, YamlNode& out) {
    for (YamlNode& entry : other.entries)
      if (keys.insert(entry.key).second) out.entries.push_back(std::move(entry));
    for (YamlNode& item : other.items) merge(item, keys, out);
  }

  const std::string& file_;
  std::vector<std::string_view> lines_;
  std::size_t nodes_ = 0, text_ = 0;
  std::optional<TextError> failure_;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view wanted) const {
  for (const YamlNode& entry : entries)
    if (entry.key == wanted) return &entry;
  return nullptr;
}

Error TextError::error() const {
  const std::string column = position.column > 0 ? fmt::format(":{}", position.column) : "";
  return {fmt::format("{}:{}{}", position.file, position.line, column), what, hint};
}

tl::expected<std::vector<YamlNode>, TextError> read_yaml(const std::string& text, const std::string& file) {
  YamlCopy copy(text, file);
  std::vector<YamlNode> documents;
  try {
    if (const int line = YamlDocuments::too_many(text); line > 0)
      return tl::unexpected(TextError{{file, line, 0}, "not YAML: no name or value begins here", "name: value"});
    for (const YAML::Node& document : YAML::LoadAll(text)) documents.push_back(copy.copy(document));
  } catch (const YAML::Exception& problem) {  // the library's way to report; goes no further
    return tl::unexpected(TextError{
        copy.at(problem.mark), "not YAML: " + problem.msg, "name: value, and blanks alike before names of one map"});
  }
  if (copy.failure()) return tl::unexpected(*copy.failure());
  return documents;
}

}  // namespace stepcast
