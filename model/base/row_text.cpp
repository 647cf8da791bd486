#include "model/base/row_text.h"

#include <algorithm>

namespace stepcast {

bool is_row_id(const std::string& id) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return letter(c) || c == '-' || c == '.'; };
  return !id.empty() && id.size() <= 80 && letter(id.front()) && std::ranges::all_of(id, allowed);
}

void read_row_id(JsonObject& file, std::string& id) {
  file.read("id", id);
  if (!file.failed() && !id.empty())
    file.require(is_row_id(id), "id", "the id has other characters or is too long",
        "lower-case letters, digits, hyphens and dots, at most 80");
  else file.require(false, "id", "the id is empty", "a name like \"my-machine\"");
}

}  // namespace stepcast
