#include "tests/studies/notation/terms/formula.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "dataflow/translate/cluster/placements.h"

namespace stepcast::notation {
namespace {

/// sum := product (("+" | "-") product)* ; product := factor (("*" | "/") factor)* ; factor := NUMBER | NAME | "sqrt"?
/// "(" sum ")"
class FormulaReader {
 public:
  FormulaReader(const std::string& text, const std::map<std::string, double>& values) : text_(text), values_(values) {}

  Expected<double> run() {
    const double value = sum();
    skip();
    if (!error_ && at_ < text_.size()) stop(fmt::format("found '{}'", text_.substr(at_)), "+ - * / or the end");
    if (!error_ && !std::isfinite(value)) stop("divides by zero", {});
    if (error_) return tl::unexpected(*error_);
    return value;
  }

 private:
  double sum() {
    double value = product();
    while (!error_) {
      if (accept('+')) value += product();
      else if (accept('-')) value -= product();
      else break;
    }
    return value;
  }

  double product() {
    double value = factor();
    while (!error_) {
      if (accept('*')) value *= factor();
      else if (accept('/')) value /= factor();
      else break;
    }
    return value;
  }

  double factor() {
    skip();
    if (accept('(')) {
      const double value = sum();
      if (!accept(')')) stop("found no ')'", "close the parenthesis");
      return value;
    }
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) return name();
    stop(fmt::format("found '{}'", text_.substr(at_)), "a number, a name or '('");
    return 0;
  }

  double number() {
    char* end = nullptr;
    const double value = std::strtod(text_.c_str() + at_, &end);
    at_ = static_cast<std::size_t>(end - text_.c_str());
    return value;
  }

  double name() {
    std::string word;
    for (; at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_');
         ++at_)
      word += text_[at_];
    if (word == "sqrt") return std::sqrt(factor());
    const auto found = values_.find(word);
    if (found != values_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& entry : values_) known.push_back(entry.first);
    stop(fmt::format("unknown name '{}'", word), name_hint(word, known));
    return 0;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (error_ || at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void stop(std::string what, std::string hint) {
    if (!error_) error_ = Error{text_, std::move(what), std::move(hint)};
    at_ = text_.size();
  }

  const std::string& text_;
  const std::map<std::string, double>& values_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Expected<double> formula_value(const std::string& formula, const std::map<std::string, double>& values) {
  return FormulaReader(formula, values).run();
}

std::map<std::string, double> formula_values(const Term& term) {
  constexpr double weight_gradient_bytes = 4;
  std::map<std::string, double> values;
  std::string text;
  for (const std::string& line : term.program) text += line + "\n";
  const auto program = parse(text, term.id);
  const auto view = program && !program->meshes.empty() ? placement_view(*program)
                                                        : fail(term.id, "no program on a mesh", "a line mesh");
  if (!view) return values;
  for (const MeshLine& line : program->meshes)
    for (const MeshLine::Axis& axis : line.axes) values[axis.name] = static_cast<double>(axis.size);
  for (int t = 0; t < static_cast<int>(view->network.tensors.size()); ++t) {
    const Tensor& tensor = view->network.tensors[t];
    values[tensor.name] = view->network.bytes(t);
    values["d" + tensor.name] =
        tensor.role == TensorRole::weight ? view->network.elements(t) * weight_gradient_bytes : view->network.bytes(t);
  }
  return values;
}

}  // namespace stepcast::notation
