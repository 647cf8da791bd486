// The lists of a sweep's report: the best with their ties, the best of each GPU count, the Pareto front.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/report/sweep_report.h"
#include "studies/report/sweep_words.h"
#include "studies/report/table.h"
#include "studies/report/text.h"

namespace stepcast {
namespace {

constexpr std::size_t most_shown = 50;

/// Figures that every list has a column for; the objective gets one of its own where it is none of them.
constexpr Figure usual_columns[] = {Figure::step_time, Figure::tokens_per_s_per_gpu, Figure::mfu, Figure::memory_peak};

struct ListedAxes {
  std::vector<const AxisRow*> columns;   ///< in which rows differ
  std::vector<std::string> common;       ///< choices that all rows have made alike
};

ListedAxes listed_axes(const Space& space, const std::vector<const SweepRow*>& rows) {
  ListedAxes axes;
  for (const AxisRow& axis : axis_rows()) {
    const auto at = static_cast<std::size_t>(axis.id);
    if (differ_in(rows, at)) axes.columns.push_back(&axis);
    else if (is_choice(space, axis)) axes.common.push_back(fmt::format("{} {}", axis_word(axis), rows.front()->choices[at]));
  }
  return axes;
}

std::string interval_cell(const SweepRow& row) {
  return fmt::format("{} to {}", figure_cell(row, Figure::p10), figure_cell(row, Figure::p90));
}

using RowMark = std::function<std::string(std::size_t)>;

std::string rows_table(const SweepAnswer& answer, const std::vector<const SweepRow*>& rows, const RowMark& mark) {
  const Figure objective = *find_figure(answer.space->objective, "");
  const bool own = std::find(std::begin(usual_columns), std::end(usual_columns), objective) == std::end(usual_columns);
  const ListedAxes axes = listed_axes(*answer.space, rows);
  std::vector<Table::Column> columns = {{"", Align::right}};
  if (own) columns.push_back({std::string(row_of(objective).name), Align::right});
  for (const char* heading : {"step", "interval", "tokens/s/GPU", "MFU", "memory"}) columns.push_back({heading, Align::right});
  for (const AxisRow* axis : axes.columns) columns.push_back({axis_word(*axis), Align::right});
  columns.push_back({"dp", Align::right});
  Table table(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = *rows[i];
    std::vector<std::string> cells = {mark(i)};
    if (own) cells.push_back(figure_cell(row, objective));
    cells.insert(cells.end(), {figure_cell(row, Figure::step_time), interval_cell(row), figure_cell(row, Figure::tokens_per_s_per_gpu),
                               figure_cell(row, Figure::mfu), figure_cell(row, Figure::memory_peak)});
    for (const AxisRow* axis : axes.columns) cells.push_back(row.choices[static_cast<std::size_t>(axis->id)]);
    cells.push_back(fmt::format("{:.0f}", figure_in(row, Figure::dp)));
    table.add(cells);
  }
  const std::string common = fmt::format("{}{}", rows.size() > 1 ? "all: " : "", fmt::join(axes.common, ", "));
  return table.text("  ") + (axes.common.empty() ? "" : paragraph(common, "  ", "       ", page_columns));
}

std::vector<const SweepRow*> shown_rows(const std::vector<SweepRow>& rows) {
  std::vector<const SweepRow*> shown;
  for (std::size_t i = 0; i < std::min(most_shown, rows.size()); ++i) shown.push_back(&rows[i]);
  return shown;
}

std::string more_rows(const std::vector<SweepRow>& rows) {
  return rows.size() <= most_shown ? "" : fmt::format("  and {} more, in --json and -o\n", whole_number(rows.size() - most_shown));
}

std::string rank_mark(std::size_t i) { return fmt::format("{} ", i + 1); }

std::string ties_line(const SweepAnswer& answer) {
  const TiedRows& tied = *answer.verdict.tied;
  return "\n" + paragraph(ties_text(tied.ties, tied_names(answer), tied.costs), "  ", "    ", page_columns);
}

}  // namespace

std::vector<std::string> tied_names(const SweepAnswer& answer) {
  const auto& top = answer.swept.result.top;
  const TiedRows& tied = *answer.verdict.tied;
  const std::size_t named = std::min(tied.rows.size(), std::max<std::size_t>(2, tied.ties.count));
  std::vector<const SweepRow*> rows;
  for (std::size_t i = 0; i < named; ++i) rows.push_back(&top[tied.rows[i]]);
  const auto tells = [&](const AxisRow& axis) { return differ_in(rows, static_cast<std::size_t>(axis.id)); };
  std::vector<std::string> names;
  for (const std::size_t i : tied.rows) {
    const std::string words = choice_words(*answer.space, top[i].choices, 0, tells);
    names.push_back(words.empty() ? fmt::format("number {}", i + 1) : fmt::format("number {} ({})", i + 1, words));
  }
  return names;
}

std::string best_rows_text(const SweepAnswer& answer, const Paint& paint) {
  const auto& top = answer.swept.result.top;
  const auto& tied = answer.verdict.tied;
  const bool ties = tied && tied->ties.count > 1;
  std::vector<bool> is_tied(top.size(), false);
  for (std::size_t i = 0; ties && i < tied->ties.count; ++i) is_tied[tied->rows[i]] = true;
  const auto mark = [&](std::size_t i) { return is_tied[i] ? fmt::format("{}=", i + 1) : rank_mark(i); };
  const std::string legend = ties ? "  " + paint.dim("= tied with the first") : "";
  return fmt::format("\n{}{}\n", paint.bold("Best by " + answer.space->objective), legend) + rows_table(answer, shown_rows(top), mark) + more_rows(top) + (tied ? ties_line(answer) : "");
}

std::string other_rows_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepResult& result = answer.swept.result;
  const auto no_mark = [](std::size_t) { return std::string(); };
  std::string text;
  if (answer.best_by_gpus.size() > 1)
    text += fmt::format("\n{}\n", paint.bold("Best of each GPU count")) + rows_table(answer, shown_rows(answer.best_by_gpus), no_mark);
  if (result.pareto.empty()) return text;
  text += fmt::format("\n{}  {}\n", paint.bold(fmt::format("Pareto front of {}", fmt::join(result.question.pareto, ", "))),
                      paint.dim(count_of_configurations(result.pareto.size())));
  return text + rows_table(answer, shown_rows(result.pareto), rank_mark) + more_rows(result.pareto);
}

}  // namespace stepcast
