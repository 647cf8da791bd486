#include "calibrate/import/config/python_calls.h"

#include "calibrate/import/config/python_text.h"

namespace stepcast::calibrate {
namespace {

/// Where the bracket at `open` closes; npos where it does not.
std::size_t closing_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  char quote = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote && text[at - 1] != '\\') quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
      return at;
    }
  }
  return text.npos;
}

}  // namespace

std::vector<FoundCall> calls_in(std::string_view text, std::string_view function) {
  std::vector<FoundCall> calls;
  for (std::size_t at = text.find(function); at != text.npos; at = text.find(function, at + 1)) {
    const std::size_t behind = at + function.size();
    if (at > 0 && (is_python_letter(text[at - 1]) || text[at - 1] == '.')) continue;
    const std::size_t open = text.find_first_not_of(" \t", behind);
    if (open == text.npos || text[open] != '(') continue;
    const std::size_t close = closing_bracket(text, open);
    if (close == text.npos) continue;
    calls.push_back({behind, close + 1, std::string(text.substr(open, close + 1 - open))});
  }
  return calls;
}

std::string without_calls(std::string text, const std::string& function, const std::string& brackets) {
  std::vector<FoundCall> calls = calls_in(text, function);
  for (auto call = calls.rbegin(); call != calls.rend(); ++call)
    if (call->brackets == brackets) text.erase(call->begin, call->end - call->begin);
  return text;
}

}  // namespace stepcast::calibrate
