#include "studies/report/sweep_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/report/text.h"

namespace stepcast {

std::string whole_number(std::uint64_t n) { return grouped_digits(static_cast<double>(n)); }

std::string count_of_configurations(std::uint64_t n) { return fmt::format("{} configuration{}", whole_number(n), n == 1 ? "" : "s"); }

double figure_in(const SweepRow& row, Figure figure) { return row.figures[static_cast<std::size_t>(figure)]; }

std::string figure_cell(const SweepRow& row, Figure figure) { return figure_text(figure, figure_in(row, figure)); }

std::string figure_words(Figure figure) {
  std::string words(row_of(figure).name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string axis_word(const AxisRow& axis) {
  std::string word(axis.key);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

bool is_choice(const Space& space, const AxisRow& axis) { return space.values[static_cast<std::size_t>(axis.id)].size() > 1; }

bool differ_in(const std::vector<const SweepRow*>& rows, std::size_t axis) {
  return std::any_of(rows.begin(), rows.end(), [&](const SweepRow* row) { return row->choices[axis] != rows.front()->choices[axis]; });
}

std::string choice_words(const Space& space, const std::vector<std::string>& choices, double dp,
                         const std::function<bool(const AxisRow&)>& wanted) {
  std::vector<std::string> words;
  for (const AxisRow& axis : axis_rows()) {
    if (wanted(axis)) words.push_back(fmt::format("{} {}", axis_word(axis), choices[static_cast<std::size_t>(axis.id)]));
    if (axis.id == AxisId::pp && is_choice(space, axis) && dp > 0) words.push_back(fmt::format("dp {:.0f}", dp));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string row_words(const Space& space, const SweepRow& row) {
  return choice_words(space, row.choices, figure_in(row, Figure::dp), [&](const AxisRow& axis) { return is_choice(space, axis); });
}

std::string words_at(const Space& space, std::uint64_t index) {
  const Digits digits = space.digits(index);
  std::vector<std::string> choices;
  for (const AxisRow& axis : axis_rows()) choices.push_back(space.value(digits, axis.id));
  return choice_words(space, choices, 0, [&](const AxisRow& axis) { return is_choice(space, axis); });
}

}  // namespace stepcast
