// The rows of a sweep for the scripts of its page: columns, so that no key is repeated for each row.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/sweep/write/explorer_parts.h"
#include "studies/sweep/write/words.h"

namespace stepcast::sweep {
namespace {

/// A configuration of the page: once, although it may stand in both lists.
struct ExploredRow {
  const SweepRow* row = nullptr;
  std::size_t rank = 0;  ///< in the top list from 1; 0: only in the front
  bool front = false;
};

std::vector<ExploredRow> explored_rows(const SweepResult& result) {
  std::vector<ExploredRow> rows;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (const SweepRow& row : result.top) {
    places.emplace(row.index, rows.size());
    rows.push_back({&row, rows.size() + 1, false});
  }
  for (const SweepRow& row : result.pareto) {
    const auto [place, is_new] = places.emplace(row.index, rows.size());
    if (is_new) rows.push_back({&row});
    rows[place->second].front = true;
  }
  std::ranges::stable_sort(
      rows, [&](const ExploredRow& a, const ExploredRow& b) { return better(*a.row, *b.row, result.question); });
  return rows;
}

template <typename List, typename ToText> std::string json_list(const List& list, const ToText& to_text) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() == 1 ? "" : ",") + to_text(item);
  return text + "]";
}

std::string_view explorer_unit(FigureUnit unit) {
  constexpr std::string_view names[] = {"seconds", "bytes", "share", "rate", "dollars", "joules", "count"};
  return names[static_cast<std::size_t>(unit)];
}

std::string explored_figure(const FigureRow& row) {
  return fmt::format(R"({{"name":"{}","title":"{}","alias":"{}","key":"{}","unit":"{}","doc":{},"more":{}}})", row.name,
      row.title, row.alias, row.key, explorer_unit(row.unit), json_quoted(row.doc), row.more_is_better);
}

/// An axis by the values that its rows have: a space may offer many more.
class ExploredAxis {
 public:
  ExploredAxis(const SweepAxis& axis, std::size_t number, const std::vector<ExploredRow>& rows) : number_(number) {
    std::map<std::string, bool> seen;
    for (const ExploredRow& row : rows) seen.emplace(choice(row), false);
    for (const std::string& value : axis.values)
      if (const auto at = seen.find(value); at != seen.end() && !at->second) enter(value), at->second = true;
    for (const auto& [value, entered] : seen)
      if (!entered) enter(value);
  }
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }
  [[nodiscard]] std::string numbers(const std::vector<ExploredRow>& rows) const {
    return json_list(rows, [&](const ExploredRow& row) { return std::to_string(numbers_.at(choice(row))); });
  }

 private:
  [[nodiscard]] std::string choice(const ExploredRow& row) const {
    return number_ < row.row->choices.size() ? row.row->choices[number_] : "";
  }
  void enter(const std::string& value) { numbers_.emplace(value, values_.size()), values_.push_back(value); }

  std::size_t number_;
  std::vector<std::string> values_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

/// Without a price nobody knows the cost, which is 0 then.
std::string explored_number(const SweepRow& row, Figure figure, const SweepQuestion& question) {
  if (figure == Figure::cost && question.price_per_gpu_hour == 0) return "null";
  return json_number(row.figures[static_cast<std::size_t>(figure)]);
}

std::string explored_columns(
    const std::vector<ExploredRow>& rows, const std::vector<ExploredAxis>& axes, const SweepQuestion& question) {
  const auto figure_column = [&](const FigureRow& figure) {
    return json_list(rows, [&](const ExploredRow& row) { return explored_number(*row.row, figure.figure, question); });
  };
  return fmt::format(R"({{"index":{},"rank":{},"front":{},"choices":{},"figures":{}}})",
      json_list(rows, [](const ExploredRow& row) { return fmt::format("\"{}\"", row.row->index); }),
      json_list(rows, [](const ExploredRow& row) { return std::to_string(row.rank); }),
      json_list(rows, [](const ExploredRow& row) { return std::string(row.front ? "1" : "0"); }),
      json_list(axes, [&](const ExploredAxis& axis) { return axis.numbers(rows); }),
      json_list(figure_rows(), figure_column));
}

}  // namespace

std::string explorer_data(const SweepResult& result) {
  const SweepQuestion& q = result.question;
  const std::vector<ExploredRow> rows = explored_rows(result);
  std::vector<ExploredAxis> axes;
  std::string axes_text;
  for (const SweepAxis& axis : q.axes) {
    axes.emplace_back(axis, axes.size(), rows);
    axes_text += fmt::format(R"({}{{"key":{},"title":{},"offered":{},"values":{}}})", axes_text.empty() ? "" : ",",
        json_quoted(axis.key), json_quoted(key_title(axis.key)), axis.values.size(),
        json_list(axes.back().values(), json_quoted));
  }
  return fmt::format(R"({{"network":{},"machine":{},"objective":{},"pareto":{},"axes":[{}],"figures":{},"rows":{}}})",
      json_quoted(q.network), json_quoted(q.machine), json_quoted(q.objective), json_list(q.pareto, json_quoted),
      axes_text, json_list(figure_rows(), explored_figure), explored_columns(rows, axes, q));
}

}  // namespace stepcast::sweep
