// Keys of Hugging Face configs that no reader asks for, and why they leave the layers alone. A key that neither a
// reader nor this table knows may change what is computed, and is listed for the caller to refuse.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/json_reader.h"

namespace stepcast::detail {

/// Keys that leave the layers alone, wherever they stand or in one family's files.
struct KnownKeys {
  const char* family;  ///< "": in all
  const char* values;  ///< values of which this is true, parted by spaces, as JSON in one line; "*": any
  const char* why;
  const char* keys;  ///< parted by spaces
};

/// Rows of families in known_keys_more.cpp.
std::span<const KnownKeys> more_known_keys();

/// Whether one of the words, parted by blanks, is this.
bool lists(std::string_view words, std::string_view word);
bool leaves_layers_alone(const std::string& family, const JsonObject::UnreadKey& key);

}  // namespace stepcast::detail
