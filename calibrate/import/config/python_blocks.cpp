#include "calibrate/import/config/python_blocks.h"

#include <algorithm>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// "if", "elif" or "else" in front of a line that ends in a colon; "" of others.
std::string_view branch_word(const PythonStatement& statement) {
  const std::string_view text = stripped(statement.text);
  if (!text.ends_with(':')) return {};
  for (const std::string_view word : {"if", "elif", "else"})
    if (text.starts_with(word) && !is_python_letter(text[word.size()])) return word;
  return {};
}

/// Where the text has `sign` outside of brackets and strings, from `at` on; its end where it has none.
std::size_t next_outside(std::string_view text, char sign, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = std::min(text.find(c, at + 1), text.size() - 1);
      continue;
    }
    if (c == sign && depth == 0) return at;
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  }
  return text.size();
}

}  // namespace

bool opens_branch(const PythonStatement& statement) { return !branch_word(statement).empty(); }

std::vector<PythonBranch> python_branches(const std::vector<PythonStatement>& statements, std::size_t at) {
  std::vector<PythonBranch> branches;
  const std::size_t indent = statements[at].indent;
  while (at < statements.size() && statements[at].indent == indent) {
    const std::string_view word = branch_word(statements[at]);
    if (word.empty() || (word == "if") != branches.empty()) break;
    std::string_view condition = stripped(statements[at].text);
    condition.remove_suffix(1);
    PythonBranch branch{std::string(stripped(condition.substr(word.size()))), at + 1, at + 1};
    if (branch.condition.empty() != (word == "else")) return {};
    while (branch.end < statements.size() && statements[branch.end].indent > indent) ++branch.end;
    if (branch.begin == branch.end) return {};
    at = branch.end;
    branches.push_back(std::move(branch));
    if (word == "else") break;
  }
  return branches;
}

std::vector<PythonParameter> python_parameters(std::string_view definition) {
  std::vector<PythonParameter> parameters;
  const std::size_t open = definition.find('(');
  if (open == definition.npos) return parameters;
  std::string_view inside = definition.substr(open + 1);
  inside = inside.substr(0, next_outside(inside, ')', 0));
  for (std::size_t begin = 0; begin < inside.size();) {
    const std::size_t end = next_outside(inside, ',', begin);
    const std::string_view one = inside.substr(begin, end - begin);
    const std::size_t equals = next_outside(one, '=', 0);
    const std::string_view typed = one.substr(0, equals);
    const std::string_view name = stripped(typed.substr(0, typed.find(':')));
    const std::string_view fallback = equals == one.size() ? std::string_view() : stripped(one.substr(equals + 1));
    if (!name.empty() && name != "/") parameters.push_back({std::string(name), std::string(fallback)});
    begin = end + 1;
  }
  return parameters;
}

std::optional<PythonNames> handed_values(const std::vector<PythonParameter>& parameters, const PythonValue& call) {
  PythonNames handed;
  std::size_t place = 0;
  for (const auto& [key, value] : call.keywords) {
    if (key.empty() && (place >= parameters.size() || value.text.starts_with('*'))) return std::nullopt;
    const std::string name = key.empty() ? parameters[place++].name : key;
    if (name.starts_with('*') || std::ranges::find(parameters, name, &PythonParameter::name) == parameters.end())
      return std::nullopt;
    if (!handed.emplace(name, value).second) return std::nullopt;  // by place and by name
  }
  return handed;
}

}  // namespace stepcast::calibrate
