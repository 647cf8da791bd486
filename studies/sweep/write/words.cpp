#include "studies/sweep/write/words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/catalog.h"
#include "studies/print/digits.h"
#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {
namespace {

template <typename Row> std::string name_of_row(const LazyRows<Row>& rows, const std::string& id, const char* kind) {
  const auto row = find_row(rows, id, kind);
  return row ? (*row)->name : id;
}

}  // namespace

std::string network_title(const SweepQuestion& question) {
  return name_of_row(built_in().networks, question.network, "network");
}
std::string machine_title(const SweepQuestion& question) {
  return name_of_row(built_in().machines, question.machine, "machine");
}

std::string key_title(std::string_view key) {
  const auto figure = find_figure(key, "axis");
  return figure ? std::string(row_of(*figure).title) : axis_word(key);
}

std::string whole_number(std::uint64_t n) { return grouped_digits(static_cast<double>(n)); }

std::string count_of_configurations(std::uint64_t n) {
  return fmt::format("{} configuration{}", whole_number(n), n == 1 ? "" : "s");
}

double figure_in(const SweepRow& row, Figure figure) { return row.figures[static_cast<std::size_t>(figure)]; }

std::string figure_cell(const SweepRow& row, Figure figure) { return figure_text(figure, figure_in(row, figure)); }

std::string figure_words(Figure figure) {
  std::string words(row_of(figure).name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string objective_words(Figure figure) {
  const FigureRow& row = row_of(figure);
  const bool bare = row.unit == FigureUnit::dollars || row.unit == FigureUnit::joules;
  return bare ? fmt::format("{}, in {}", row.name, row.doc) : std::string(row.name);
}

std::string figure_heading(Figure figure) {
  if (figure == Figure::cost) return "cost/B tokens";
  return figure == Figure::energy ? "energy/step" : std::string(row_of(figure).name);
}

std::string axis_word(std::string_view key) {
  std::string word(key);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

bool is_choice(const SweepAxis& axis) { return axis.values.size() > 1; }

bool differ_in(const std::vector<const SweepRow*>& rows, std::size_t axis) {
  return std::ranges::any_of(
      rows, [&](const SweepRow* row) { return row->choices[axis] != rows.front()->choices[axis]; });
}

std::string choice_words(const SweepQuestion& question, const std::vector<std::string>& choices, double dp,
    const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < question.axes.size(); ++i) {
    const SweepAxis& axis = question.axes[i];
    if (wanted(i)) words.push_back(fmt::format("{} {}", axis_word(axis.key), choices[i]));
    if (axis.key == row_of(AxisId::pp).key && is_choice(axis) && dp > 0) words.push_back(fmt::format("dp {:.0f}", dp));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string row_words(const SweepQuestion& question, const SweepRow& row) {
  return choice_words(question, row.choices, figure_in(row, Figure::dp),
      [&](std::size_t axis) { return is_choice(question.axes[axis]); });
}

std::string words_at(const SweepQuestion& question, std::uint64_t index) {
  std::vector<std::string> choices(question.axes.size());
  for (std::size_t i = question.axes.size(); i-- > 0;) {
    const std::vector<std::string>& values = question.axes[i].values;
    choices[i] = values[index % values.size()];
    index /= values.size();
  }
  return choice_words(question, choices, 0, [&](std::size_t axis) { return is_choice(question.axes[axis]); });
}

}  // namespace stepcast::sweep
