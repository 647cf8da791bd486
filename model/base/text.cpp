#include "model/base/text.h"

#include <algorithm>
#include <cctype>

namespace stepcast {

std::string_view stripped(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string some_of(std::span<const std::string> names, std::size_t most) {
  std::string text;
  for (const std::string& name : names.first(std::min(most, names.size()))) text += (text.empty() ? "" : ", ") + name;
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

}  // namespace stepcast
