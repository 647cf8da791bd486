#include "studies/sweep/where/where.h"

#include <algorithm>
#include <utility>

#include "model/base/text.h"

namespace stepcast::sweep {

namespace {

using Answer = Where::Answer;
static_assert(Answer::no < Answer::open && Answer::open < Answer::yes, "'and' is the least, 'or' the greatest of two");

Answer answer_of(bool met) { return met ? Answer::yes : Answer::no; }

struct WhereQuestion {
  const std::vector<WhereNode>& nodes;
  const Figures& figures;
  FigureNeeds known;
  std::span<const std::string_view> words;

  [[nodiscard]] double value(std::uint32_t at) const {
    const WhereNode& node = nodes[at];
    if (node.op == WhereOp::number) return node.number;
    if (node.op == WhereOp::figure) return figures[node.left];
    if (node.op == WhereOp::negate) return -value(node.left);
    return where_value(node.op, value(node.left), value(node.right));
  }

  [[nodiscard]] Answer answer(std::size_t at) const {
    const WhereNode& node = nodes[at];
    switch (node.op) {
      case WhereOp::word_is: return answer_of(words[node.left] == node.word);
      case WhereOp::word_is_not: return answer_of(words[node.left] != node.word);
      case WhereOp::invert: return static_cast<Answer>(2 - static_cast<int>(answer(node.left)));
      case WhereOp::both: {
        const Answer left = answer(node.left);
        return left == Answer::no ? left : std::min(left, answer(node.right));
      }
      case WhereOp::either: {
        const Answer left = answer(node.left);
        return left == Answer::yes ? left : std::max(left, answer(node.right));
      }
      default: return node.needs > known ? Answer::open : answer_of(compare(node));
    }
  }

  [[nodiscard]] bool compare(const WhereNode& node) const {
    const double a = value(node.left), b = value(node.right);
    switch (node.op) {
      case WhereOp::less: return a < b;
      case WhereOp::at_most: return a <= b;
      case WhereOp::more: return a > b;
      case WhereOp::at_least: return a >= b;
      case WhereOp::equal: return a == b;
      default: return a < b || a > b;  // not even unequal where one is no number
    }
  }
};

}  // namespace

Expected<Where> Where::read(const std::string& text, const std::string& where, std::span<const WordAxis> axes) {
  Where result;
  if (stripped(text).empty()) return result;
  TRY(auto nodes, read_where(text, where, axes));
  result.nodes_ = std::make_shared<const std::vector<WhereNode>>(std::move(nodes));
  result.text_ = text;
  return result;
}

Where::Answer Where::ask(const Figures& figures, FigureNeeds known, std::span<const std::string_view> words) const {
  return empty() ? Answer::yes : WhereQuestion{*nodes_, figures, known, words}.answer(nodes_->size() - 1);
}

FigureNeeds Where::needs() const { return empty() ? FigureNeeds::plan : nodes_->back().needs; }

std::vector<Figure> Where::figures() const {
  std::vector<Figure> result;
  if (empty()) return result;
  for (const WhereNode& node : *nodes_)
    if (node.op == WhereOp::figure) result.push_back(static_cast<Figure>(node.left));
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace stepcast::sweep
