// A YAML file as a plain tree with the place of every node. The YAML library stays behind yaml_tree.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "model/base/error.h"

namespace stepcast {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map } kind = Kind::null;
  std::string text;                   ///< of a scalar
  std::string tag;                    ///< "!Container"; "" = none written
  std::vector<YamlNode> items;        ///< of a list
  std::vector<YamlEntry> entries;     ///< of a map, in text order; each key once
  Position position;

  /// The entry `key`, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string first;                  ///< key
  YamlNode second;                    ///< value
};

/// All documents of a text, one after the other. Aliases are replaced by what they stand for. Errors: not YAML, a key
/// twice, a key that is no scalar, more than a million nodes.
Expected<std::vector<YamlNode>> read_yaml(const std::string& text, const std::string& file);

}  // namespace stepcast
