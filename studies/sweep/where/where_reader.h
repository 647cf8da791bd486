// A constraint as a tree: what the reader makes of its text, and what answers walk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/sweep/space/figures.h"

namespace stepcast::run {
struct RunField;
}

namespace stepcast::sweep {

constexpr int deepest_where = 30;  ///< open parentheses

/// An axis with words for values: "schedule".
struct WordAxis {
  std::string name;
  std::vector<std::string> values;          ///< that can stand there; empty: not checked
  const RunField* field = nullptr;          ///< what else its check takes can stand there too
  std::vector<std::string> left_open = {};  ///< values that a word of this space, "auto", may come to
  std::string unsaid = {};                  ///< what to do where this space gives it no values of its own; "": it does
};

// clang-format off
enum class WhereOp : std::uint8_t {
  number, figure, negate, add, subtract, multiply, divide,
  less, at_most, more, at_least, equal, unequal, word_is, word_is_not,
  both, either, invert,
};
// clang-format on

/// A number or a condition; its operands are nodes in front of it.
struct WhereNode {
  WhereOp op;
  std::uint32_t left = 0, right = 0;  ///< nodes; `left` is also the number of a figure or of an axis
  FigureNeeds needs = FigureNeeds::plan;
  double number = 0;
  std::string word = {};
};

/// Of add, subtract, multiply and divide.
inline double where_value(WhereOp op, double a, double b) {
  if (op == WhereOp::add) return a + b;
  if (op == WhereOp::subtract) return a - b;
  return op == WhereOp::multiply ? a * b : a / b;
}

/// The last node is the whole. Errors as Where::read() has them.
Expected<std::vector<WhereNode>> read_where(
    const std::string& text, const std::string& where, std::span<const WordAxis> axes);

}  // namespace stepcast::sweep
