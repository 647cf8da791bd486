// A pipeline's order in time on a terminal, drawn with letters.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/paint.h"
#include "studies/timeline/schedule_report.h"

namespace stepcast::timeline {
namespace {

constexpr int most_columns_per_action = 3;  // a letter and two digits

/// How long a column of the drawing is.
double column_time(const PipelineRun& run, int columns) {
  const double makespan = run.timeline.makespan.value();
  double shortest = makespan;
  for (std::size_t i = 0; i < run.timeline.start.size(); ++i) {
    const double length = (run.timeline.end[i] - run.timeline.start[i]).value();
    if (length > 0) shortest = std::min(shortest, length);
  }
  const double per_action = std::floor(columns * shortest / makespan * (1 + 1e-9));
  if (per_action < 1) return makespan / columns;
  return shortest / std::min<double>(per_action, most_columns_per_action);
}

std::string painted(const Paint& paint, ActionKind kind, const std::string& text) {
  switch (kind) {
    case ActionKind::forward: return paint.cool(text);
    case ActionKind::weight_grad: return paint.good(text);
    default: return paint.warm(text);
  }
}

/// "F3-": the letter, the number if it fits, and a line to the end. Later chunks, or the second copy, in small letters.
std::string block_text(const PipelineRun& run, const Action& action, std::size_t columns) {
  const char letter = letter_of(action.kind);
  const bool later = schedule_shade_of(run, action.stage) > 0;
  std::string text = fmt::format("{}{}", later ? static_cast<char>(letter - 'A' + 'a') : letter, action.micro_batch);
  if (text.size() > columns) text.resize(1);
  text.resize(columns, '-');
  return text;
}

struct DrawnRow {
  std::string text;
  std::size_t hidden = 0;  ///< actions that fall between two columns
};

/// A column shows what runs at its middle.
DrawnRow timeline_row(const PipelineRun& run, int rank, double step, const Paint& paint) {
  const auto blocks = rank_blocks(run, rank);
  const auto columns = static_cast<std::size_t>(std::ceil(run.timeline.makespan.value() / step - 1e-6));
  DrawnRow row;
  std::size_t column = 0;
  const auto reaches = [&](double time) { return (static_cast<double>(column) + 0.5) * step < time; };
  for (const ScheduleBlock& block : blocks) {
    for (; column < columns && reaches(block.start); ++column) row.text += '.';
    const std::size_t first = column;
    while (column < columns && reaches(block.end)) ++column;
    if (column > first) {
      row.text += painted(paint, block.action.kind, block_text(run, block.action, column - first));
    } else {
      ++row.hidden;
    }
  }
  row.text += std::string(columns - column, '.');
  return row;
}

/// The letters that the order has.
std::string letters_text(const PipelineRun& run, const Paint& paint) {
  constexpr const char* names[] = {"forward", "backward", "input gradient", "weight gradient"};
  std::array<bool, 4> used{};
  for (const Action& action : run.order.actions) used[static_cast<std::size_t>(action.kind)] = true;
  std::string text;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto kind = static_cast<ActionKind>(i);
    if (used[i]) text += fmt::format("{} {}, ", painted(paint, kind, std::string(1, letter_of(kind))), names[i]);
  }
  text += ". idle";
  if (run.order.directions > 1) return text + "; small letters: the copy that runs the other way";
  return run.chunks() > 1 ? text + "; small letters: later chunks" : text;
}

}  // namespace

std::string schedule_drawing(const PipelineRun& run, const Console& console) {
  const std::string last = fmt::format("{}", run.order.ranks - 1);
  const int columns = std::max(20, console.columns - static_cast<int>(last.size()) - 4);
  const double step = column_time(run, columns);
  const Paint paint(console);
  std::string text;
  std::size_t hidden = 0;
  for (int rank = 0; rank < run.order.ranks; ++rank) {
    const DrawnRow row = timeline_row(run, rank, step, paint);
    text += fmt::format("  {:>{}}  {}\n", rank, last.size(), row.text);
    hidden += row.hidden;
  }
  text += fmt::format("  {}\n", letters_text(run, paint));
  if (hidden > 0)
    text += fmt::format("  A column is {} and shows what runs at its middle: {} of {} actions fall between two.\n"
                        "  A wider terminal or --svg FILE shows more.\n",
        schedule_time_text(run, step), hidden, run.order.actions.size());
  return text;
}

}  // namespace stepcast::timeline
