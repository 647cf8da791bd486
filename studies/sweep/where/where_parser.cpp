#include "studies/sweep/where/where_parser.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "studies/run/fields.h"

namespace stepcast {
namespace {

constexpr std::size_t longest_where = 10'000;

struct WhereSymbol { std::string_view text; WhereOp op; };
/// Longer ones first.
constexpr WhereSymbol where_comparisons[] = {{"<=", WhereOp::at_most}, {">=", WhereOp::at_least}, {"==", WhereOp::equal},
                                             {"!=", WhereOp::unequal}, {"<", WhereOp::less},      {">", WhereOp::more}};

/// What to write instead of a word that can never stand there.
std::optional<std::string> why_no_value(const WordAxis& axis, const std::string& word) {
  if (axis.values.empty() || std::find(axis.values.begin(), axis.values.end(), word) != axis.values.end()) return std::nullopt;
  if (axis.field == nullptr) return name_hint(word, axis.values);
  auto good = check_field(*axis.field, word, "");
  if (good) return std::nullopt;
  return good.error().hint.empty() ? name_hint(word, axis.values) : good.error().hint;
}

double where_value(WhereOp op, double a, double b) {
  switch (op) {
    case WhereOp::add: return a + b;
    case WhereOp::subtract: return a - b;
    case WhereOp::multiply: return a * b;
    default: return a / b;
  }
}

}  // namespace

Expected<WhereCode> WhereParser::run() {
  if (text_.size() > longest_where)
    text_.error(longest_where, fmt::format("the constraint has {} characters", text_.size()), fmt::format("at most {}", longest_where));
  text_.skip_space();
  const Part whole = disjunction();
  if (!text_.at_end()) text_.error_here();
  need_truth(whole);
  if (text_.failed()) return tl::unexpected(*text_.failed());
  return std::move(code_);
}

WhereParser::Part WhereParser::disjunction() {
  Part left = conjunction();
  while (text_.accept_word("or")) left = joined(left, &WhereParser::conjunction, WhereOp::yes_to, WhereOp::either);
  return left;
}

WhereParser::Part WhereParser::conjunction() {
  Part left = negation();
  while (text_.accept_word("and")) left = joined(left, &WhereParser::negation, WhereOp::no_to, WhereOp::both);
  return left;
}

WhereParser::Part WhereParser::joined(Part left, Part (WhereParser::*side)(), WhereOp skip, WhereOp join) {
  need_truth(left);
  const std::size_t skipping = code_.steps.size();
  emit({.op = skip});
  need_truth((this->*side)());
  emit({.op = join});
  code_.steps[skipping].target = static_cast<std::uint32_t>(code_.steps.size());
  return closed(left);
}

WhereParser::Part WhereParser::negation() {
  const std::size_t begin = text_.at();
  bool inverted = false, any = false;
  for (; text_.accept_word("not"); any = true) inverted = !inverted;
  Part part = comparison();
  if (any) need_truth(part);
  if (inverted) emit({.op = WhereOp::invert});
  part.begin = begin;
  return part;
}

WhereParser::Part WhereParser::comparison() {
  const Part left = sum();
  const auto op = accept_comparison();
  if (!op) return left;
  if (left.kind == Part::Kind::word) return word_compared(*op, left);
  need_quantity(left);
  const Part right = sum();
  if (right.kind == Part::Kind::word)
    text_.error(right.begin, fmt::format("'{}' has words for values and stands on the right", shown(right)),
                "it stands on the left, like schedule == 1f1b");
  need_quantity(right);
  const Part both = compared(*op, left, right);
  const std::size_t next = text_.at();
  if (accept_comparison()) text_.error(next, "comparisons do not chain", fmt::format("write '{} and ...'", shown(both)));
  return both;
}

WhereParser::Part WhereParser::compared(WhereOp op, Part left, const Part& right) {
  need_one_unit(left, right, "both sides of a comparison have one unit");
  need_share(left, right);
  need_share(right, left);
  if (left.constant && right.constant)
    text_.error(left.begin, fmt::format("'{}' and '{}' are both numbers", shown(left), shown(right)),
                "compare with a figure, like tp <= 8");
  emit({.op = op});
  const FigureNeeds needs = std::max(left.needs, right.needs);
  const std::size_t end = code_.steps.size() + 1;
  // What lies behind `first` are quantities: no targets that would move.
  if (needs > FigureNeeds::plan)
    code_.steps.insert(code_.steps.begin() + static_cast<std::ptrdiff_t>(left.first),
                       {.op = WhereOp::wait, .needs = needs, .target = static_cast<std::uint32_t>(end)});
  code_.needs = std::max(code_.needs, needs);
  left.kind = Part::Kind::truth;
  left.constant.reset();
  return closed(left);
}

WhereParser::Part WhereParser::word_compared(WhereOp op, Part axis) {
  if (op != WhereOp::equal && op != WhereOp::unequal) need_quantity(axis);
  const std::size_t begin = text_.at();
  const std::string word(text_.word());
  const std::vector<std::string>& values = axes_[axis.axis].values;
  if (word.empty())
    text_.error(begin, fmt::format("a value of '{}' is missing", shown(axis)), name_hint("", values));
  else if (const auto hint = why_no_value(axes_[axis.axis], word))
    text_.error(begin, fmt::format("'{}' is no value of '{}'", short_where(word), shown(axis)), *hint);
  emit({.op = op == WhereOp::equal ? WhereOp::word_is : WhereOp::word_is_not,
        .target = axis.axis,
        .value = static_cast<std::uint32_t>(code_.values.size())});
  code_.values.push_back(word);
  axis.kind = Part::Kind::truth;
  return closed(axis);
}

WhereParser::Part WhereParser::sum() {
  Part left = term();
  for (;;) {
    if (text_.accept("+")) left = computed(WhereOp::add, left, term());
    else if (text_.accept("-")) left = computed(WhereOp::subtract, left, term());
    else return left;
  }
}

WhereParser::Part WhereParser::term() {
  Part left = factor();
  for (;;) {
    if (text_.accept("*")) left = computed(WhereOp::multiply, left, factor());
    else if (text_.accept("/")) left = computed(WhereOp::divide, left, factor());
    else return left;
  }
}

WhereParser::Part WhereParser::computed(WhereOp op, Part left, const Part& right) {
  need_quantity(left);
  need_quantity(right);
  const bool sums = op == WhereOp::add || op == WhereOp::subtract;
  if (sums) need_one_unit(left, right, "what is added or subtracted has one unit");
  left.unit = sums                      ? sum_unit(left.unit, right.unit)
              : op == WhereOp::multiply ? product_unit(left.unit, right.unit)
                                        : quotient_unit(left.unit, right.unit);
  left.needs = std::max(left.needs, right.needs);
  if (left.constant && right.constant) return folded(left, where_value(op, *left.constant, *right.constant));
  left.constant.reset();
  emit({.op = op});
  return closed(left);
}

/// Puts one number in place of the steps of a constant.
WhereParser::Part WhereParser::folded(Part part, double value) {
  code_.steps.resize(part.first, {.op = WhereOp::number});
  emit({.op = WhereOp::number, .number = value});
  part.constant = value;
  return closed(part);
}

WhereParser::Part WhereParser::factor() {
  Part part = opened();
  bool negative = false, any = false;
  for (; text_.accept("-"); any = true) negative = !negative;
  if (text_.at_end()) {
    text_.error(text_.at(), "a figure or a number is missing at the end", "a comparison looks like tp <= 8");
    return part;
  }
  const std::size_t begin = part.begin;
  part = text_.here() == '(' ? parenthesis() : text_.begins_number() ? number() : name();
  if (any) need_quantity(part);
  part.begin = begin;
  if (!negative) return part;
  if (part.constant) return folded(part, -*part.constant);
  emit({.op = WhereOp::negate});
  return part;
}

WhereParser::Part WhereParser::parenthesis() {
  const std::size_t begin = text_.at();
  if (++depth_ > deepest_where) text_.error(begin, "too many open parentheses", fmt::format("at most {}", deepest_where));
  if (!text_.accept("(")) return opened();
  Part inside = disjunction();
  if (!text_.failed() && !text_.accept(")"))
    text_.error(text_.at(), fmt::format("expected ')', found {}", text_.found()), fmt::format("of the '(' in column {}", begin + 1));
  --depth_;
  inside.begin = begin;
  return closed(inside);
}

WhereParser::Part WhereParser::number() {
  Part part = opened();
  const bool money = text_.accept("$");
  const std::string_view digits = text_.digits();
  if (digits.empty()) {
    text_.error(text_.at(), fmt::format("expected a number, found {}", text_.found()), "write it like $ 1.20");
    return part;
  }
  text_.pass(digits.size());
  std::string_view unit = text_.here() == '%' ? "%" : text_.name();
  if (is_where_keyword(unit) || find_figure(unit, "")) unit = {};  // "8 tp" misses an operator, not a unit
  const auto value = where_number(digits, money && unit.empty() ? "USD" : unit, "");
  if (!value) {
    text_.error(part.begin, value.error().what, value.error().hint);
    return part;
  }
  text_.pass(unit.size());
  part.unit = value->unit;
  return folded(part, value->value);
}

WhereParser::Part WhereParser::name() {
  Part part = opened();
  const std::string_view name = text_.name();
  const auto figure = find_figure(name, "");
  const auto axis = std::find_if(axes_.begin(), axes_.end(), [&](const WordAxis& one) { return one.name == name; });
  if (figure) {
    part.unit = WhereUnit::of(row_of(*figure).unit);
    part.needs = row_of(*figure).needs;
    emit({.op = WhereOp::figure, .target = static_cast<std::uint32_t>(*figure)});
  } else if (axis != axes_.end()) {
    part.kind = Part::Kind::word;
    part.axis = static_cast<std::uint32_t>(axis - axes_.begin());
  } else {
    unknown_name(name);
  }
  text_.pass(name.size());
  return closed(part);
}

void WhereParser::unknown_name(std::string_view name) {
  if (name.empty() || is_where_keyword(name))
    return text_.error(text_.at(), fmt::format("expected a figure or a number, found {}", text_.found()),
                       "a comparison looks like tp <= 8");
  std::vector<std::string> names;
  for (const FigureRow& row : figure_rows()) names.emplace_back(row.name);
  for (const WordAxis& axis : axes_) names.push_back(axis.name);
  text_.error(text_.at(), fmt::format("unknown figure '{}'", short_where(name)), name_hint(name, names));
}

void WhereParser::need_truth(const Part& part) {
  if (text_.failed() || part.kind == Part::Kind::truth) return;
  text_.error(part.begin, fmt::format("'{}' is no condition", shown(part)),
              part.kind == Part::Kind::word ? "compare it, like schedule == 1f1b" : "compare it, like tp <= 8");
}

void WhereParser::need_quantity(const Part& part) {
  if (text_.failed() || part.kind == Part::Kind::quantity) return;
  if (part.kind == Part::Kind::word)
    text_.error(part.begin, fmt::format("'{}' has words for values", shown(part)), "compare it with == or !=");
  else
    text_.error(part.begin, fmt::format("'{}' is a condition, not a number", shown(part)), "join conditions with 'and' or 'or'");
}

void WhereParser::need_one_unit(const Part& left, const Part& right, const char* rule) {
  if (text_.failed() || left.unit.fits(right.unit)) return;
  text_.error(left.begin, fmt::format("'{}' is {}, '{}' is {}", shown(left), left.unit.text(), shown(right), right.unit.text()), rule);
}

/// "mfu > 45" is never met, and was meant as 45 %.
void WhereParser::need_share(const Part& figure, const Part& limit) {
  const bool share = !figure.constant && !figure.unit.bare && figure.unit.pure == WhereUnit::Pure::share;
  if (!share || !limit.constant || *limit.constant <= 1) return;
  text_.error(limit.begin, fmt::format("'{}' is a share, and {} is {:g} %", shown(figure), shown(limit), 100 * *limit.constant),
              limit.unit.bare ? fmt::format("write it like {:g} %", *limit.constant) : "shares go up to 100 %");
}

std::optional<WhereOp> WhereParser::accept_comparison() {
  for (const WhereSymbol& symbol : where_comparisons)
    if (text_.accept(symbol.text)) return symbol.op;
  if (text_.here() == '=') text_.error(text_.at(), "'=' is no comparison", "== for equal, <= for at most");
  return std::nullopt;
}

WhereParser::Part WhereParser::opened() const {
  Part part;
  part.begin = part.end = text_.at();
  part.first = code_.steps.size();
  return part;
}

WhereParser::Part WhereParser::closed(Part part) const {
  part.end = text_.at();
  return part;
}

}  // namespace stepcast
