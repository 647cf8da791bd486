// A YAML text (JSON too) as a plain tree with the place of every node. The YAML library stays behind yaml.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/position.h"

namespace stepcast {

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map } kind = Kind::null;
  std::string text;               ///< of a scalar
  std::string tag;                ///< "!Container"; "" = none written
  bool quoted = false;            ///< a scalar that was written in quotes
  bool flow = false;              ///< a list that was written "[1, 2]"
  std::vector<YamlNode> items;    ///< of a list
  std::vector<YamlNode> entries;  ///< of a map, in text order; each key once
  Position position;              ///< of a null: that of its key
  std::string key;                ///< of a value in a map
  int key_line = 0;

  /// The entry with this key, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view wanted) const;
};

/// What is wrong with a text, and where.
struct TextError {
  Position position;  ///< column 0 = the whole line
  std::string what, hint;

  [[nodiscard]] Error error() const;
};

/// All documents of a text, one after the other. Aliases are replaced by what they stand for, and merge keys ("<<") by
/// the entries of the other map that the map does not have itself. Errors: not YAML, a key twice, a key that is no
/// scalar, more than 64 levels, 100,000 nodes or 16 MiB of text behind aliases.
tl::expected<std::vector<YamlNode>, TextError> read_yaml(const std::string& text, const std::string& file);

}  // namespace stepcast
