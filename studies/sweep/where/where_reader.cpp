#include "studies/sweep/where/where_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "studies/run/fields.h"
#include "studies/sweep/where/where_text.h"
#include "studies/sweep/where/where_unit.h"

namespace stepcast::sweep {
namespace {

struct WhereSymbol {
  std::string_view text;
  WhereOp op;
  int level;  ///< of the grammar, the loosest first
};
const decltype(WhereUnit::powers) bytes_alone = WhereUnit::of(FigureUnit::bytes).powers;
constexpr int joins = 0, comparisons = 2, sums = 3, products = 4;
/// Longer ones first.
constexpr WhereSymbol where_symbols[] = {{"or", WhereOp::either, joins}, {"and", WhereOp::both, joins + 1},
    {"<=", WhereOp::at_most, comparisons}, {">=", WhereOp::at_least, comparisons}, {"==", WhereOp::equal, comparisons},
    {"!=", WhereOp::unequal, comparisons}, {"<", WhereOp::less, comparisons}, {">", WhereOp::more, comparisons},
    {"+", WhereOp::add, sums}, {"-", WhereOp::subtract, sums}, {"*", WhereOp::multiply, products},
    {"/", WhereOp::divide, products}};

/// What people write who know another notation.
struct ForeignSymbol {
  std::string_view text, hint;
};
constexpr ForeignSymbol foreign_symbols[] = {{"=", "equality is written =="}, {"&", "write 'and'"}, {"|", "write 'or'"},
    {"!", "write 'not'"}, {",", "join conditions with 'and' or 'or'; a number has no separators"}};

/// What to write instead of a word that can never stand there.
std::optional<std::string> why_no_value(const WordAxis& axis, const std::string& word) {
  if (axis.values.empty() || contains(axis.values, word)) return std::nullopt;
  if (axis.field == nullptr) return name_hint(word, axis.values);
  auto good = check_field(*axis.field, word, "");
  if (good) return std::nullopt;
  return good.error().hint.empty() ? name_hint(word, axis.values) : good.error().hint;
}

/// By recursive descent, one function per rule of the grammar. The first error ends the text.
class WhereReader {
 public:
  WhereReader(std::string_view text, const std::string& where, std::span<const WordAxis> axes)
      : text_(text, where), axes_(axes) {}

  Expected<std::vector<WhereNode>> run() {
    constexpr std::size_t longest = 10'000;
    if (text_.size() > longest)
      error(longest, fmt::format("the constraint has {} characters", text_.size()), fmt::format("at most {}", longest));
    text_.pass(0);
    const Part whole = chain(joins);
    if (!text_.ended()) error_here();
    need_truth(whole);
    if (text_.error()) return tl::unexpected(*text_.error());
    return std::move(nodes_);
  }

 private:
  /// What [begin, end) of the text stands for.
  struct Part {
    enum class Kind { truth, quantity, word } kind = Kind::quantity;
    std::size_t begin = 0, end = 0;
    std::uint32_t node = 0;  ///< of a word: the number of its axis
    FigureNeeds needs = FigureNeeds::plan;
    WhereUnit unit;
    std::optional<double> constant;
  };

  /// Operands of the next level with operators of this one between them, from left to right.
  Part chain(int level) {
    Part left = operand(level);
    while (const auto op = accept_operator(level)) {
      if (level < comparisons) need_truth(left);
      const Part right = operand(level);
      if (level < comparisons) need_truth(right);
      left = level < comparisons ? made(*op, left, right) : computed(*op, left, right);
    }
    return left;
  }

  Part operand(int level) {
    if (level == joins || level == sums) return chain(level + 1);
    return level == products ? factor() : negation();
  }

  Part negation() {
    const std::size_t begin = text_.at();
    bool inverted = false, any = false;
    for (; text_.accept_word("not"); any = true) inverted = !inverted;
    Part part = comparison();
    if (any) need_truth(part);
    if (inverted) part = made(WhereOp::invert, part, part);
    part.begin = begin;
    return part;
  }

  Part comparison() {
    const Part left = chain(sums);
    const auto op = accept_comparison();
    if (!op) return left;
    if (left.kind == Part::Kind::word) return word_compared(*op, left);
    need_quantity(left);
    const Part right = chain(sums);
    if (right.kind == Part::Kind::word)
      error(right.begin, fmt::format("'{}' has words for values and stands on the right", shown(right)),
          "it stands on the left, like schedule == 1f1b");
    need_quantity(right);
    need_one_unit(left, right, "both sides of a comparison have one unit");
    need_share(left, right);
    need_memory(left, right);
    need_share(right, left);
    need_memory(right, left);
    if (left.constant && right.constant)
      error(left.begin, fmt::format("'{}' and '{}' are both numbers", shown(left), shown(right)),
          "compare with a figure, like tp <= 8");
    Part both = made(*op, left, right);
    both.kind = Part::Kind::truth;
    const std::size_t next = text_.at();
    if (accept_comparison()) error(next, "comparisons do not chain", fmt::format("write '{} and ...'", shown(both)));
    return both;
  }

  Part word_compared(WhereOp op, Part axis) {
    if (op != WhereOp::equal && op != WhereOp::unequal) need_quantity(axis);
    const std::size_t begin = text_.at();
    const std::string word(text_.take_word());
    const WordAxis& row = axes_[axis.node];
    if (!row.unsaid.empty()) error(axis.begin, fmt::format("'{}' is no axis of this sweep", shown(axis)), row.unsaid);
    else if (word.empty())
      error(begin, fmt::format("a value of '{}' is missing", shown(axis)), name_hint("", row.values));
    else if (const auto hint = why_no_value(row, word))
      error(begin, fmt::format("'{}' is no value of '{}'", short_where(word), shown(axis)), *hint);
    else if (contains(row.left_open, word))
      error(begin, fmt::format("'{}' may be what auto comes to, which this sweep tries", short_where(word)),
          fmt::format("say the values of {} to try: {}", shown(axis), fmt::join(row.left_open, ",")));
    axis.node =
        add({.op = op == WhereOp::equal ? WhereOp::word_is : WhereOp::word_is_not, .left = axis.node, .word = word});
    axis.kind = Part::Kind::truth;
    return closed(axis);
  }

  Part computed(WhereOp op, const Part& left, const Part& right) {
    need_quantity(left);
    need_quantity(right);
    const bool sum = op == WhereOp::add || op == WhereOp::subtract;
    if (sum) need_one_unit(left, right, "what is added or subtracted has one unit");
    Part result = made(op, left, right);
    result.unit = sum                       ? sum_unit(left.unit, right.unit)
                  : op == WhereOp::multiply ? product_unit(left.unit, right.unit)
                                            : quotient_unit(left.unit, right.unit);
    if (left.constant && right.constant) return folded(result, where_value(op, *left.constant, *right.constant));
    return result;
  }

  Part factor() {
    Part part = opened();
    bool negative = false, any = false;
    for (; text_.accept("-"); any = true) negative = !negative;
    if (text_.ended()) {
      error(text_.at(), "a figure or a number is missing at the end", "a comparison looks like tp <= 8");
      return part;
    }
    const std::size_t begin = part.begin;
    const char next = text_.here();
    part = next == '(' ? parenthesis() : is_where_digit(next) || next == '.' || next == '$' ? number() : name();
    if (any) need_quantity(part);
    if (negative) part = part.constant ? folded(part, -*part.constant) : made(WhereOp::negate, part, part);
    part.begin = begin;
    return part;
  }

  Part parenthesis() {
    const std::size_t begin = text_.at();
    if (++depth_ > deepest_where) error(begin, "too many open parentheses", fmt::format("at most {}", deepest_where));
    if (!text_.accept("(")) return opened();
    Part inside = chain(joins);
    if (!text_.error() && !text_.accept(")"))
      error(text_.at(), fmt::format("expected ')', found {}", text_.found()),
          fmt::format("of the '(' in column {}", begin + 1));
    --depth_;
    inside.begin = begin;
    return closed(inside);
  }

  Part number() {
    Part part = opened();
    const bool money = text_.accept("$");
    const std::string_view digits = text_.digits_here();
    if (digits.empty()) {
      error(text_.at(), fmt::format("expected a number, found {}", text_.found()), "write it like $ 1.20");
      return part;
    }
    text_.pass(digits.size());
    std::string_view unit = text_.here() == '%' ? "%" : text_.name_here();
    if (is_where_keyword(unit) || find_figure(unit, "")) unit = {};  // "8 tp" misses an operator, not a unit
    const auto value = where_number(digits, money && unit.empty() ? "USD" : unit, "");
    if (!value) {
      error(part.begin, value.error().what, value.error().hint);
      return part;
    }
    text_.pass(unit.size());
    part.unit = value->unit;
    return folded(closed(part), value->value);
  }

  Part name() {
    Part part = opened();
    const std::string_view name = text_.name_here();
    const auto axis = std::ranges::find(axes_, name, &WordAxis::name);
    if (const auto figure = find_figure(name, "")) {
      part.unit = WhereUnit::of(row_of(*figure).unit);
      part.needs = row_of(*figure).needs;
      part.node = add({.op = WhereOp::figure, .left = static_cast<std::uint32_t>(*figure)});
    } else if (axis != axes_.end()) {
      part.kind = Part::Kind::word;
      part.node = static_cast<std::uint32_t>(axis - axes_.begin());
    } else {
      unknown_name(name);
    }
    text_.pass(name.size());
    return closed(part);
  }

  void unknown_name(std::string_view name) {
    if (name.empty() || is_where_keyword(name))
      return error(text_.at(), fmt::format("expected a figure or a number, found {}", text_.found()),
          "a comparison looks like tp <= 8");
    std::vector<std::string> names = names_of(figure_rows(), &FigureRow::name);
    for (const WordAxis& axis : axes_) names.push_back(axis.name);
    error(text_.at(), fmt::format("unknown figure '{}'", short_where(name)), name_hint(name, names));
  }

  void need_truth(const Part& part) {
    if (part.kind != Part::Kind::truth)
      error(part.begin, fmt::format("'{}' is no condition", shown(part)),
          part.kind == Part::Kind::word ? "compare it, like schedule == 1f1b" : "compare it, like tp <= 8");
  }

  void need_quantity(const Part& part) {
    if (part.kind == Part::Kind::word)
      error(part.begin, fmt::format("'{}' has words for values", shown(part)), "compare it with == or !=");
    if (part.kind == Part::Kind::truth)
      error(part.begin, fmt::format("'{}' is a condition, not a number", shown(part)),
          "join conditions with 'and' or 'or'");
  }

  void need_one_unit(const Part& left, const Part& right, const char* rule) {
    if (!left.unit.fits(right.unit))
      error(left.begin,
          fmt::format("'{}' is {}, '{}' is {}", shown(left), left.unit.text(), shown(right), right.unit.text()), rule);
  }

  /// "mfu > 45" is never met, and was meant as 45 %.
  void need_share(const Part& figure, const Part& limit) {
    const bool share = !figure.constant && !figure.unit.bare && figure.unit.pure == WhereUnit::Pure::share;
    if (share && limit.constant && *limit.constant > 1)
      error(limit.begin,
          fmt::format("'{}' is a share, and {} is {:g} %", shown(figure), shown(limit), 100 * *limit.constant),
          limit.unit.bare ? fmt::format("write it like {:g} %", *limit.constant) : "shares go up to 100 %");
  }

  /// "memory < 60" is never met, and was meant as 60 GiB.
  void need_memory(const Part& figure, const Part& limit) {
    constexpr double least_bytes = 1e6;
    const bool memory = !figure.constant && !figure.unit.bare && figure.unit.powers == bytes_alone;
    if (memory && limit.constant && limit.unit.bare && *limit.constant > 0 && *limit.constant < least_bytes)
      error(limit.begin,
          fmt::format("'{}' is in bytes, and {} is {:g} of them", shown(figure), shown(limit), *limit.constant),
          fmt::format("write it like {:g} GiB", *limit.constant));
  }

  // Parts and their nodes.
  std::uint32_t add(WhereNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  Part made(WhereOp op, const Part& left, const Part& right) {
    Part part = closed(left);
    part.needs = std::max(left.needs, right.needs);
    part.constant.reset();
    part.node = add({.op = op, .left = left.node, .right = right.node, .needs = part.needs});
    return part;
  }
  Part folded(Part part, double value) {
    part.constant = value;
    part.node = add({.op = WhereOp::number, .number = value});
    return part;
  }
  [[nodiscard]] Part opened() const {
    Part part;
    part.begin = part.end = text_.at();
    return part;
  }
  [[nodiscard]] Part closed(Part part) const {
    part.end = text_.at();
    return part;
  }

  std::optional<WhereOp> accept_operator(int level) {
    for (const WhereSymbol& symbol : where_symbols)
      if (symbol.level == level && (level < comparisons ? text_.accept_word(symbol.text) : text_.accept(symbol.text)))
        return symbol.op;
    return std::nullopt;
  }
  std::optional<WhereOp> accept_comparison() {
    const auto op = accept_operator(comparisons);
    if (!op && text_.here() == '=') error(text_.at(), "'=' is no comparison", "== for equal, <= for at most");
    return op;
  }
  [[nodiscard]] std::string shown(const Part& part) const { return text_.shown(part.begin, part.end); }

  void error(std::size_t at, std::string what, std::string hint) {
    text_.fail_at(at, std::move(what), std::move(hint));
  }

  /// Something stands here that does not continue a complete constraint.
  void error_here() {
    const std::vector<std::string> joins = {"and", "or"};
    std::string hint = nearest_name(text_.name_here(), joins);
    if (!hint.empty()) hint = fmt::format("did you mean '{}'?", hint);
    for (const ForeignSymbol& symbol : foreign_symbols)
      if (text_.stands_here(symbol.text)) hint = symbol.hint;
    error(text_.at(), fmt::format("expected an operator, 'and', 'or' or the end, found {}", text_.found()), hint);
  }

  WhereText text_;
  std::span<const WordAxis> axes_;
  int depth_ = 0;
  std::vector<WhereNode> nodes_;
};

}  // namespace

Expected<std::vector<WhereNode>> read_where(
    const std::string& text, const std::string& where, std::span<const WordAxis> axes) {
  return WhereReader(text, where, axes).run();
}

}  // namespace stepcast::sweep
