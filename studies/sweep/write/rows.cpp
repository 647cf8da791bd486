// The lists of a sweep's report: the best with their ties, the best of each GPU count, the Pareto front.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "studies/print/digits.h"
#include "studies/sweep/write/report.h"
#include "studies/sweep/write/words.h"
#include "studies/print/table.h"
#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {
namespace {

constexpr std::size_t most_shown = 50, most_of_front = 20;

/// Figures that every list has a column for; others that matter get one of their own.
constexpr Figure usual_columns[] = {Figure::step_time, Figure::tokens_per_s_per_gpu, Figure::mfu, Figure::memory_peak};

struct ListedAxes {
  std::vector<std::size_t> columns;  ///< in which rows differ
  std::vector<std::string> common;   ///< choices that all rows have made alike
};

ListedAxes listed_axes(const SweepQuestion& question, const std::vector<const SweepRow*>& rows) {
  ListedAxes axes;
  for (std::size_t i = 0; i < question.axes.size(); ++i) {
    const SweepAxis& axis = question.axes[i];
    if (differ_in(rows, i)) axes.columns.push_back(i);
    else if (is_choice(axis))
      axes.common.push_back(fmt::format("{} {}", axis_word(axis.key), rows.front()->choices[i]));
  }
  return axes;
}

/// The split of the list has a column for these already.
bool has_axis(const SweepQuestion& question, Figure figure) {
  return figure == Figure::dp ||
         std::ranges::any_of(question.axes, [&](const SweepAxis& axis) { return axis.key == row_of(figure).key; });
}

/// What the list is ordered by, and of a front all that it weighs.
std::vector<Figure> own_columns(const SweepQuestion& question, bool front) {
  std::vector<std::string> names = {question.objective};
  if (front) names = question.pareto;
  std::vector<Figure> figures;
  for (const std::string& name : names) {
    const auto figure = find_figure(name, "");
    const bool usual = !figure || contains(usual_columns, *figure);
    if (!usual && !has_axis(question, *figure)) figures.push_back(*figure);
  }
  return figures;
}

std::string interval_cell(const SweepRow& row) {
  return fmt::format("{} to {}", figure_cell(row, Figure::p10), figure_cell(row, Figure::p90));
}

using RowMark = std::function<std::string(std::size_t)>;

std::string rows_table(const SweepQuestion& question, const std::vector<const SweepRow*>& rows,
    const std::vector<Figure>& own, const RowMark& mark) {
  const ListedAxes axes = listed_axes(question, rows);
  std::vector<Table::Column> columns = {{"", Align::right}};
  for (const Figure figure : own) columns.push_back({figure_heading(figure), Align::right});
  for (const char* heading : {"step", "interval", "tokens/s/GPU", "MFU", "memory"})
    columns.push_back({heading, Align::right});
  for (const std::size_t axis : axes.columns) columns.push_back({axis_word(question.axes[axis].key), Align::right});
  columns.push_back({"dp", Align::right});
  Table table(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = *rows[i];
    std::vector<std::string> cells = {mark(i)};
    for (const Figure figure : own) cells.push_back(figure_cell(row, figure));
    cells.insert(cells.end(),
        {figure_cell(row, Figure::step_time), interval_cell(row), figure_cell(row, Figure::tokens_per_s_per_gpu),
            figure_cell(row, Figure::mfu), figure_cell(row, Figure::memory_peak)});
    for (const std::size_t axis : axes.columns) cells.push_back(row.choices[axis]);
    cells.push_back(fmt::format("{:.0f}", figure_in(row, Figure::dp)));
    table.add(cells);
  }
  const std::string common = fmt::format("{}{}", rows.size() > 1 ? "all: " : "", fmt::join(axes.common, ", "));
  return table.text("  ") + (axes.common.empty() ? "" : paragraph(common, "  ", "       ", page_columns));
}

std::vector<const SweepRow*> shown_rows(const std::vector<SweepRow>& rows, std::size_t most) {
  std::vector<const SweepRow*> shown;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) shown.push_back(&rows[i]);
  return shown;
}

std::string more_rows(const std::vector<SweepRow>& rows, std::size_t most) {
  return rows.size() <= most ? "" : fmt::format("  and {} more, in --json and -o\n", whole_number(rows.size() - most));
}

std::string rank_mark(std::size_t i) { return fmt::format("{} ", i + 1); }

std::string list_heading(const SweepQuestion& question, const Paint& paint) {
  return paint.bold("Best by " + objective_words(*find_figure(question.objective, "")));
}

/// Rows of other GPU counts are no rivals, so that a row may be alone in a long list.
std::string alone_of_its_count(const SweepAnswer& answer) {
  const SweepRow& first = answer.swept.result.top.front();
  return fmt::format(
      "number 1 is the only one of the list with {:.0f} GPUs, and ties are of one GPU count: a longer list (--top) "
      "shows them",
      figure_in(first, Figure::gpus));
}

std::string ties_line(const SweepAnswer& answer) {
  const TiedRows& tied = *answer.verdict.tied;
  const bool alone = tied.rows.size() == 1 && answer.swept.result.top.size() > 1 && tied.ties.cut_short;
  const std::string text = alone ? alone_of_its_count(answer) : ties_text(tied.ties, tied_names(answer), tied.costs);
  return "\n" + paragraph(text, "  ", "    ", page_columns);
}

bool is_split(const SweepAxis& axis) {
  constexpr AxisId split[] = {AxisId::tp, AxisId::cp, AxisId::pp};
  return std::ranges::any_of(split, [&](AxisId id) { return axis.key == row_of(id).key; });
}

}  // namespace

std::vector<std::string> tied_names(const SweepAnswer& answer) {
  const auto& top = answer.swept.result.top;
  const SweepQuestion& question = answer.swept.result.question;
  const TiedRows& tied = *answer.verdict.tied;
  const std::size_t named = std::min(tied.rows.size(), std::max<std::size_t>(2, tied.ties.count));
  std::vector<const SweepRow*> rows;
  for (std::size_t i = 0; i < named; ++i) rows.push_back(&top[tied.rows[i]]);
  const auto tells = [&](std::size_t axis) {
    return differ_in(rows, axis) || (is_choice(question.axes[axis]) && is_split(question.axes[axis]));
  };
  std::vector<std::string> names;
  for (const std::size_t i : tied.rows) {
    const std::string words = choice_words(question, top[i].choices, figure_in(top[i], Figure::dp), tells);
    names.push_back(words.empty() ? fmt::format("number {}", i + 1) : fmt::format("number {} ({})", i + 1, words));
  }
  return names;
}

std::string best_rows_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepResult& result = answer.swept.result;
  const auto& tied = answer.verdict.tied;
  const bool ties = tied && tied->ties.count > 1;
  std::vector<bool> is_tied(result.top.size(), false);
  for (std::size_t i = 0; ties && i < tied->ties.count; ++i) is_tied[tied->rows[i]] = true;
  const auto mark = [&](std::size_t i) { return is_tied[i] ? fmt::format("{}=", i + 1) : rank_mark(i); };
  const std::string legend = ties ? "  " + paint.dim("= tied with the first") : "";
  return fmt::format("\n{}{}\n", list_heading(result.question, paint), legend) +
         rows_table(result.question, shown_rows(result.top, most_shown), own_columns(result.question, false), mark) +
         more_rows(result.top, most_shown) + (tied ? ties_line(answer) : "");
}

std::string plain_rows_text(const SweepResult& result, const Paint& paint) {
  return fmt::format("\n{}\n", list_heading(result.question, paint)) +
         rows_table(
             result.question, shown_rows(result.top, most_shown), own_columns(result.question, false), rank_mark) +
         more_rows(result.top, most_shown);
}

std::string by_gpus_text(const SweepAnswer& answer, const Paint& paint) {
  if (answer.best_by_gpus.size() < 2) return "";
  const SweepQuestion& question = answer.swept.result.question;
  const auto no_mark = [](std::size_t) { return std::string(); };
  return fmt::format("\n{}\n", paint.bold("Best of each GPU count")) +
         rows_table(question, shown_rows(answer.best_by_gpus, most_shown), own_columns(question, false), no_mark);
}

std::string front_text(const SweepResult& result, const Paint& paint) {
  if (result.pareto.empty()) return "";
  const SweepQuestion& question = result.question;
  return fmt::format("\n{}  {}\n", paint.bold(fmt::format("Pareto front of {}", fmt::join(question.pareto, ", "))),
             paint.dim(count_of_configurations(result.pareto.size()))) +
         rows_table(question, shown_rows(result.pareto, most_of_front), own_columns(question, true), rank_mark) +
         more_rows(result.pareto, most_of_front);
}

}  // namespace stepcast::sweep
