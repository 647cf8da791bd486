#include "studies/launch/read/text_kinds.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "calibrate/import/config/config_text.h"
#include "model/base/text.h"

namespace stepcast::launch {
namespace {

/// "[model]" or "[[data]]" in front of a line; a shell's "[ -f x ]" and "[[ -f x ]]" have a blank.
bool has_tables(std::string_view text) {
  for (std::size_t at = text.find("\n["); at != text.npos; at = text.find("\n[", at + 1)) {
    const std::size_t name = text.find_first_not_of('[', at + 1);
    if (name != text.npos && name <= at + 3 && std::isalpha(static_cast<unsigned char>(text[name])) != 0) return true;
  }
  return false;
}

}  // namespace

Expected<void> check_launch_bytes(std::string_view text, const std::string& where) {
  std::size_t line = 1;
  for (const char c : text) {
    const bool control =
        static_cast<unsigned char>(c) < ' ' && std::string_view("\n\r\t\f\v\x1b").find(c) == std::string_view::npos;
    if (control)
      return fail(fmt::format("{}:{}", where, line), fmt::format("byte {} is no text", static_cast<int>(c)),
          std::string(launch_forms));
    line += c == '\n' ? 1 : 0;
  }
  return {};
}

std::string_view first_words(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = stripped(text.substr(0, text.find('\n')));
    if (!line.empty() && !line.starts_with('#')) return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

bool is_script_like_toml(const std::string& text, const std::string& where) {
  const std::string_view first = first_words(text);
  if (config_form(text) != ConfigForm::toml || first.find('=') == first.npos || first.starts_with('[')) return false;
  return !has_tables(text) || (!where.ends_with(".toml") && !read_config_arguments(text, where));
}

bool is_argument_file(std::string_view first) { return first.size() > 2 && first.starts_with("--") && first[2] != '-'; }

bool takes_any_argument(std::string_view text, std::string_view name) {
  constexpr std::string_view forms[] = {"$@", "${@", "$*", "$#", "shift", "getopts"};
  return name.find_first_not_of("0123456789") == name.npos &&
         std::ranges::any_of(forms, [&](std::string_view form) { return text.find(form) != text.npos; });
}

}  // namespace stepcast::launch
