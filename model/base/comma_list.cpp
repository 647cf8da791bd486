#include "model/base/comma_list.h"

#include <algorithm>

#include "model/base/text.h"

namespace stepcast {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> items = split_at_commas(text);
  for (std::string& item : items) item = std::string(stripped(item));
  return items;
}

}  // namespace stepcast
