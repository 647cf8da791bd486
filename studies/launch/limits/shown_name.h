// Names of files in messages: whole up to a line's length, and with a mark where a part is left out.
#pragma once

#include <string>
#include <string_view>

#include "model/base/utf8.h"

namespace stepcast::launch {

/// "very/long/...part/of/a/path.json": both ends, for the last tells the file.
inline std::string shown_name(std::string_view name) {
  constexpr std::size_t most = 160, head = 60, tail = 90;
  if (name.size() <= most) return std::string(name);
  return std::string(utf8_head(name, head)) + "..." + std::string(utf8_tail(name, tail));
}

}  // namespace stepcast::launch
