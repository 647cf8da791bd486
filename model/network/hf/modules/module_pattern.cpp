// How patterns are meant: compressed_tensors/utils/match.py (re.match behind "re:"), fnmatch of exclude_modules
// (TensorRT-LLM models/modeling_utils.py, is_module_excluded_from_quantization; vLLM quantization/modelopt.py), parts
// of names of modules_to_not_convert (vLLM quantization/awq.py, is_layer_skipped_awq).
#include "model/network/hf/modules/module_pattern.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace stepcast::detail {
namespace {

bool holds_all(std::string_view glob, std::string_view name) {
  std::size_t at = 0, read = 0, star = glob.npos, from = 0;
  while (read < name.size()) {
    if (at < glob.size() && (glob[at] == '?' || glob[at] == name[read]) && glob[at] != '*') ++at, ++read;
    else if (at < glob.size() && glob[at] == '*') star = at++, from = read;
    else if (star != glob.npos) at = star + 1, read = ++from;
    else return false;
  }
  return glob.find_first_not_of('*', at) == glob.npos;
}

/// "model.layers.1" is no part of "model.layers.12", and "model.layers.1." is one of "model.layers.1.mlp". "v_proj" is
/// no part of "self_attn.qkv_proj".
bool is_part(std::string_view part, std::string_view name) {
  if (part.empty()) return false;
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (at > 0 && name[at - 1] != '.' && part.front() != '.') continue;
    if (part.back() == '.' || end == name.size() || name[end] == '.') return true;
  }
  return false;
}

/// Patterns that a search through short names may take long for are not read.
bool is_quick(std::string_view pattern) {
  constexpr std::size_t longest = 1000;
  constexpr std::ptrdiff_t most = 4;
  const auto repeats = std::ranges::count_if(pattern, [](char c) { return c == '*' || c == '+' || c == '{'; });
  const bool nested =
      pattern.find(")*") != pattern.npos || pattern.find(")+") != pattern.npos || pattern.find("){") != pattern.npos;
  return pattern.size() <= longest && repeats <= most && !nested;
}

/// The longest run of letters, digits and "_" that stands in each name which the expression finds: outside groups and
/// sets, and behind no sign that lets its last letter be absent. "": an expression of several ways has none.
std::string part_of_all(std::string_view expression) {
  std::string longest, run;
  int depth = 0;
  const auto end_run = [&] {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  };
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (c == '|' && depth == 0) return "";
    if (c == '*' || c == '?' || c == '{')
      if (!run.empty()) run.pop_back();
    if (word && depth == 0) {
      run += c;
      continue;
    }
    end_run();
    if (c == '\\') {  // of a sign, or of a kind of letters; others say a letter by its number
      const bool number = ++at < expression.size() && std::isalnum(static_cast<unsigned char>(expression[at])) != 0 &&
                          std::string_view("dDwWsSbB").find(expression[at]) == std::string_view::npos;
      if (number) return "";
    } else if (c == '{' || c == '[') {
      const std::size_t begin = at + 1;
      at = expression.find(c == '{' ? '}' : ']', at + 2);
      if (at == expression.npos) return "";
      // a sign that "]" stands behind, or a class of letters, may go on behind it
      if (c == '[' && expression.substr(begin, at - begin).find_first_of("\\[") != expression.npos) return "";
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    }
  }
  end_run();
  return depth == 0 ? longest : "";
}

}  // namespace

struct ModulePattern::Search {
  std::regex expression;
  std::string part;  ///< that each name which it finds has; "": not told
};

std::optional<ModulePattern> ModulePattern::of(const std::string& text) {
  ModulePattern pattern;
  pattern.text_ = text;
  if (text.starts_with("re:")) {
    constexpr std::size_t mark = 3;
    pattern.kind_ = Kind::search;
    if (!is_quick(std::string_view(text).substr(mark))) return std::nullopt;
    try {
      pattern.search_ = std::make_shared<const Search>(Search{
          std::regex(text.substr(mark), std::regex::optimize | std::regex::nosubs), part_of_all(text.substr(mark))});
    } catch (const std::regex_error&) {
      return std::nullopt;
    }
  } else if (text.find_first_of("*?") != text.npos) {
    pattern.kind_ = Kind::glob;
  }
  return pattern;
}

bool ModulePattern::holds(std::string_view name) const {
  if (kind_ == Kind::glob) return holds_all(text_, name) || holds_all(text_ + ".*", name);
  if (kind_ == Kind::part) return is_part(text_, name);
  if (name.find(search_->part) == name.npos) return false;  // searches of expressions are slow
  return std::regex_search(name.begin(), name.end(), search_->expression, std::regex_constants::match_continuous);
}

bool ModulePattern::counts_layers() const {
  const bool digits = text_.find_first_of("0123456789") != text_.npos;
  return digits || (kind_ == Kind::search ? text_.find("\\d") != text_.npos || text_.find('[') != text_.npos
                                          : text_.find('?') != text_.npos);
}

}  // namespace stepcast::detail
