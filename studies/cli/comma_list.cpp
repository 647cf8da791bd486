#include "studies/cli/comma_list.h"

#include <algorithm>

#include "model/base/text.h"

namespace stepcast::cli {

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.emplace_back(stripped(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return items;
}

}  // namespace stepcast::cli
