#include "studies/sweep/where/where_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/run/fields.h"
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

bool is_where_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_where_digit(char c) { return c >= '0' && c <= '9'; }
/// Bytes of UTF-8 too: a micro sign begins a unit.
bool is_where_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::string short_where(std::string_view text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : fmt::format("{}...", text.substr(0, longest));
}

/// In any case: "AND" is refused as a keyword, not as a unit of the number before it.
bool is_where_keyword(std::string_view name) {
  const std::string lower = lower_case(name.substr(0, 4));
  return lower == "and" || lower == "or" || lower == "not";
}

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
      : text_(text), where_(where), axes_(axes) {}

  Expected<std::vector<WhereNode>> run() {
    constexpr std::size_t longest = 10'000;
    if (text_.size() > longest)
      error(longest, fmt::format("the constraint has {} characters", text_.size()), fmt::format("at most {}", longest));
    pass(0);
    const Part whole = chain(joins);
    if (at_ < text_.size()) error_here();
    need_truth(whole);
    if (error_) return tl::unexpected(*error_);
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
    const std::size_t begin = at_;
    bool inverted = false, any = false;
    for (; accept_word("not"); any = true) inverted = !inverted;
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
    const std::size_t next = at_;
    if (accept_comparison()) error(next, "comparisons do not chain", fmt::format("write '{} and ...'", shown(both)));
    return both;
  }

  Part word_compared(WhereOp op, Part axis) {
    if (op != WhereOp::equal && op != WhereOp::unequal) need_quantity(axis);
    const std::size_t begin = at_;
    const std::string word(take_word());
    const WordAxis& row = axes_[axis.node];
    if (word.empty()) error(begin, fmt::format("a value of '{}' is missing", shown(axis)), name_hint("", row.values));
    else if (const auto hint = why_no_value(row, word))
      error(begin, fmt::format("'{}' is no value of '{}'", short_where(word), shown(axis)), *hint);
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
    for (; accept("-"); any = true) negative = !negative;
    if (at_ == text_.size()) {
      error(at_, "a figure or a number is missing at the end", "a comparison looks like tp <= 8");
      return part;
    }
    const std::size_t begin = part.begin;
    part = here() == '(' ? parenthesis() : is_where_digit(here()) || here() == '.' || here() == '$' ? number() : name();
    if (any) need_quantity(part);
    if (negative) part = part.constant ? folded(part, -*part.constant) : made(WhereOp::negate, part, part);
    part.begin = begin;
    return part;
  }

  Part parenthesis() {
    const std::size_t begin = at_;
    if (++depth_ > deepest_where) error(begin, "too many open parentheses", fmt::format("at most {}", deepest_where));
    if (!accept("(")) return opened();
    Part inside = chain(joins);
    if (!error_ && !accept(")"))
      error(at_, fmt::format("expected ')', found {}", found()), fmt::format("of the '(' in column {}", begin + 1));
    --depth_;
    inside.begin = begin;
    return closed(inside);
  }

  Part number() {
    Part part = opened();
    const bool money = accept("$");
    const std::string_view digits = digits_here();
    if (digits.empty()) {
      error(at_, fmt::format("expected a number, found {}", found()), "write it like $ 1.20");
      return part;
    }
    pass(digits.size());
    std::string_view unit = here() == '%' ? "%" : name_here();
    if (is_where_keyword(unit) || find_figure(unit, "")) unit = {};  // "8 tp" misses an operator, not a unit
    const auto value = where_number(digits, money && unit.empty() ? "USD" : unit, "");
    if (!value) {
      error(part.begin, value.error().what, value.error().hint);
      return part;
    }
    pass(unit.size());
    part.unit = value->unit;
    return folded(closed(part), value->value);
  }

  Part name() {
    Part part = opened();
    const std::string_view name = name_here();
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
    pass(name.size());
    return closed(part);
  }

  void unknown_name(std::string_view name) {
    if (name.empty() || is_where_keyword(name))
      return error(
          at_, fmt::format("expected a figure or a number, found {}", found()), "a comparison looks like tp <= 8");
    std::vector<std::string> names = names_of(figure_rows(), &FigureRow::name);
    for (const WordAxis& axis : axes_) names.push_back(axis.name);
    error(at_, fmt::format("unknown figure '{}'", short_where(name)), name_hint(name, names));
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
    part.begin = part.end = at_;
    return part;
  }
  [[nodiscard]] Part closed(Part part) const {
    part.end = at_;
    return part;
  }

  // The text.
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(std::string_view symbol) {
    if (error_ || !text_.substr(at_).starts_with(symbol)) return false;
    return pass(symbol.size()), true;
  }
  bool accept_word(std::string_view word) { return name_here() == word && accept(word); }
  std::optional<WhereOp> accept_operator(int level) {
    for (const WhereSymbol& symbol : where_symbols)
      if (symbol.level == level && (level < comparisons ? accept_word(symbol.text) : accept(symbol.text)))
        return symbol.op;
    return std::nullopt;
  }
  std::optional<WhereOp> accept_comparison() {
    const auto op = accept_operator(comparisons);
    if (!op && here() == '=') error(at_, "'=' is no comparison", "== for equal, <= for at most");
    return op;
  }
  /// And the space behind.
  void pass(std::size_t characters) {
    at_ = std::min(at_ + characters, text_.size());
    while (at_ < text_.size() && is_where_space(text_[at_])) ++at_;
  }

  /// "memory.peak" or "GiB"; empty when no letter stands here.
  [[nodiscard]] std::string_view name_here() const {
    std::size_t end = at_;
    const auto inside = [&](char c) { return is_where_letter(c) || (end > at_ && (is_where_digit(c) || c == '.')); };
    while (end < text_.size() && inside(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  /// "70", "1e-3", ".5"; of "70GiB" and "2e" only the digits.
  [[nodiscard]] std::string_view digits_here() const {
    const auto run = [this](std::size_t at) {
      while (at < text_.size() && is_where_digit(text_[at])) ++at;
      return at;
    };
    std::size_t end = run(at_);
    if (end < text_.size() && text_[end] == '.') end = run(end + 1);
    if (end > at_ && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const bool sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-');
      const std::size_t exponent = end + (sign ? 2 : 1);
      if (run(exponent) > exponent) end = run(exponent);
    }
    return text_.substr(at_, end - at_);
  }

  /// Goes past 'quoted words', "quoted words" or whatever has no space and no parenthesis.
  std::string_view take_word() {
    const std::size_t begin = at_;
    const bool quoted = here() == '"' || here() == '\'';
    const auto inside = [&](char c) { return quoted ? c != text_[begin] : !is_where_space(c) && c != '(' && c != ')'; };
    const std::size_t from = at_ + (quoted ? 1 : 0);
    std::size_t end = from;
    while (end < text_.size() && inside(text_[end])) ++end;
    at_ = end;
    if (quoted && end == text_.size())
      error(begin, "the quotation has no end", fmt::format("close it with {}", text_[begin]));
    pass(quoted ? 1 : 0);
    return text_.substr(from, end - from);
  }

  /// What stands here, for an error: "'tp'", "the end".
  [[nodiscard]] std::string found() const {
    if (at_ == text_.size()) return "the end";
    const auto byte = static_cast<unsigned char>(here());
    if (byte < 0x20 || byte == 0x7f) return fmt::format("the byte 0x{:02x}", byte);
    const std::string_view word = is_where_digit(here()) ? digits_here() : name_here();
    return fmt::format("'{}'", word.empty() ? std::string(1, here()) : short_where(word));
  }

  [[nodiscard]] std::string shown(const Part& part) const {
    return short_where(stripped(text_.substr(part.begin, part.end - part.begin)));
  }

  /// Keeps the first one, with the column (from 1, in bytes), and goes to the end.
  void error(std::size_t at, std::string what, std::string hint) {
    if (!error_) error_ = Error{fmt::format("{}, column {}", where_, at + 1), std::move(what), std::move(hint)};
    at_ = text_.size();
  }

  /// Something stands here that does not continue a complete constraint.
  void error_here() {
    const std::vector<std::string> joins = {"and", "or"};
    std::string hint = nearest_name(name_here(), joins);
    if (!hint.empty()) hint = fmt::format("did you mean '{}'?", hint);
    for (const ForeignSymbol& symbol : foreign_symbols)
      if (text_.substr(at_).starts_with(symbol.text)) hint = symbol.hint;
    error(at_, fmt::format("expected an operator, 'and', 'or' or the end, found {}", found()), hint);
  }

  std::string_view text_;
  const std::string& where_;
  std::span<const WordAxis> axes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<WhereNode> nodes_;
  std::optional<Error> error_;
};

}  // namespace

Expected<std::vector<WhereNode>> read_where(
    const std::string& text, const std::string& where, std::span<const WordAxis> axes) {
  return WhereReader(text, where, axes).run();
}

}  // namespace stepcast::sweep
