// A constraint as it is asked millions of times: a flat program for two small stacks, one of numbers and one of answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/sweep/price/figures.h"

namespace stepcast {

/// wait         pushes "open" and goes to `target` when its figures are not known yet: the comparison behind it is left out
/// no_to, yes_to  go to `target` when the last answer already decides the conjunction (disjunction) that it begins
enum class WhereOp : std::uint8_t {
  number, figure, negate, add, subtract, multiply, divide,
  less, at_most, more, at_least, equal, unequal, word_is, word_is_not,
  wait, no_to, yes_to, both, either, invert,
};

struct WhereStep {
  WhereOp op;
  FigureNeeds needs = FigureNeeds::plan;  ///< of wait
  std::uint32_t target = 0;   ///< a step; the number of a figure; the number of an axis
  std::uint32_t value = 0;    ///< of word_is: number in `values`
  double number = 0;
};

struct WhereCode {
  std::vector<WhereStep> steps;
  std::vector<std::string> values;
  FigureNeeds needs = FigureNeeds::plan;
};

/// An open parenthesis leaves at most one unfinished sum, product, disjunction and conjunction behind: two entries on each stack.
constexpr int deepest_where = 30;
constexpr int where_stack = 2 * deepest_where + 4;

}  // namespace stepcast
