#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"
#include "studies/serve/sweep/words.h"

namespace stepcast::serve::sweeping {
namespace {

std::string table_of(const Asked& asked, const Explored& explored, const std::vector<std::size_t>& rows) {
  const std::vector<std::size_t> axes = varying_axes(explored, rows);
  using print::Align;
  const bool priced = explored.rows[rows.front()].cost.has_value();
  std::vector<print::Table::Column> columns = {{"", Align::left}};
  for (const std::size_t axis : axes) {
    columns.push_back({axis_columns()[axis].title, axis_columns()[axis].name ? Align::left : Align::right});
  }
  for (const char* title : {asked.closed ? "users" : "requests/s", "tokens/s/GPU", "tokens/s/user"})
    columns.push_back({title, Align::right});
  columns.push_back({"interval", Align::left});
  for (const char* title : {"TPOT", "TTFT", "cache"}) columns.push_back({title, Align::right});
  if (priced) columns.push_back({"$/M tokens", Align::right});
  if (!asked.targets.empty()) columns.push_back({"goodput", Align::right});
  print::Table table(std::move(columns));
  for (const std::size_t place : rows) {
    const Row& row = explored.rows[place];
    const RowFigures& figures = row.figures();
    std::vector<std::string> cells = {mark_of(row)};
    for (const std::size_t axis : axes)
      cells.push_back(axis_columns()[axis].text(explored.configurations[row.configuration]));
    cells.push_back(asked.closed ? print::grouped_digits(row.load) : fmt::format("{:.3g}", row.load));
    cells.push_back(print::grouped_digits(figures.words_per_gpu));
    cells.push_back(fmt::format("{:.1f}", figures.words_per_user));
    cells.push_back(fmt::format(
        "{:.1f} to {:.1f}", figures.words_per_user / row.spread.p90, figures.words_per_user / row.spread.p10));
    cells.push_back(format_seconds(figures.per_word));
    cells.push_back(figures.first_word ? format_seconds(*figures.first_word) : "-");
    cells.push_back(format_percent(row.state.used_share));
    if (priced) cells.push_back(fmt::format("{:.3g}", *row.cost));
    if (!asked.targets.empty()) cells.push_back(row.met ? format_percent(*row.met) : "-");
    table.add(std::move(cells));
  }
  std::string text = table.text("  ");
  const auto& first = explored.configurations[explored.rows[rows.front()].configuration];
  std::vector<std::string> same;
  for (std::size_t axis = 0; axis < axis_columns().size(); ++axis)
    if (std::ranges::count(axes, axis) == 0 && axis_columns()[axis].text(first) != "-")
      same.push_back(fmt::format("{} {}", axis_columns()[axis].title, axis_columns()[axis].text(first)));
  return text + print::paragraph(fmt::format("{}", fmt::join(same, ", ")), "  all: ", "       ", print::page_columns);
}

std::string counts_text(const Explored& explored) {
  std::uint64_t without = 0;
  for (const Refused& refused : explored.refused) without += refused.count;
  std::string text;
  if (without > 0) text += fmt::format("  {} have no row\n", print::grouped_digits(static_cast<double>(without)));
  for (const Refused& refused : explored.refused)
    text += print::paragraph(refused.reason,
        fmt::format("  {:>7}  ", print::grouped_digits(static_cast<double>(refused.count))), "           ",
        print::page_columns);
  std::map<std::string, int> unsure;
  int simulated = 0, sure = 0;
  for (const Row& row : explored.rows) {
    simulated += row.simulated ? 1 : 0, sure += row.sure() && !row.simulated ? 1 : 0;
    if (!row.sure()) ++unsure[standing_of(row).substr(std::string("not sure: ").size())];
  }
  text += fmt::format("  {} by the mean field, {} simulated request by request\n", sure, simulated);
  if (explored.too_many > 0)
    text += fmt::format("  {} of so many replicas that they are not simulated\n",
        print::grouped_digits(static_cast<double>(explored.too_many)));
  for (const auto& [why, count] : unsure)
    text += fmt::format("  {} by a mean field that may not hold, not listed: {}\n", count, why);
  return text;
}

}  // namespace

std::string sweep_text(const Asked& asked, const Explored& explored, double seconds) {
  std::string text = title_of(asked, explored) + "\n";
  text += fmt::format("\n{} combinations  {:.2f} s, {:.0f} configurations/s, 1 thread\n",
      print::grouped_digits(static_cast<double>(explored.combinations)), seconds,
      static_cast<double>(explored.combinations) / seconds);
  text += counts_text(explored);
  if (explored.best.empty())
    return text + (explored.rows.empty() ? "\nNothing is left: the counts above say why.\n"
                                         : "\nNothing is sure: --simulate N runs some of them.\n");
  const bool priced = explored.rows[explored.best.front()].cost.has_value();
  text += fmt::format(
      "\nBest of each configuration by {}  = simulated\n", priced ? "cost per million output tokens" : "tokens/s/GPU");
  text += table_of(asked, explored, explored.best);
  text += "\nFront of tokens/s/GPU over tokens/s/user\n" + table_of(asked, explored, explored.front);
  const Row& first = explored.rows[explored.best.front()];
  text += "\nTo run the first one again\n  " +
          serve_line(asked, explored.configurations[first.configuration], first.load) + "\n";
  if (!explored.assumptions.empty())
    text += fmt::format("\nDefaults and assumptions\n  {}\n", fmt::join(explored.assumptions, ", "));
  return text;
}

}  // namespace stepcast::serve::sweeping
