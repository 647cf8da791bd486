#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/page/html_text.h"
#include "studies/print/line_plot.h"
#include "studies/print/page/page.h"
#include "studies/serve/sweep/words.h"

namespace stepcast::serve::sweeping {
namespace {

using namespace print;

std::string load_words(const Asked& asked, const Row& row) {
  return asked.closed ? fmt::format("{} users", grouped_digits(row.load)) : fmt::format("{:.3g} requests/s", row.load);
}

std::string dot_title(const Asked& asked, const std::string& configuration, const Row& row) {
  const RowFigures& figures = row.figures();
  return fmt::format("{}, {}: {} tokens/s/GPU, {:.1f} tokens/s/user, TPOT {}{}; {}", configuration,
      load_words(asked, row), grouped_digits(figures.words_per_gpu), figures.words_per_user,
      format_seconds(figures.per_word),
      figures.first_word ? fmt::format(", TTFT {}", format_seconds(*figures.first_word)) : "", standing_of(row));
}

/// The front of all, and a curve of each configuration that is listed or has a part of it.
std::string fronts(const Asked& asked, const Explored& explored) {
  const ConfigurationWords words(explored);
  std::vector<PlotSeries> series;
  PlotSeries all{"front of all", {}, true, true, true};
  for (const std::size_t place : explored.front) {
    const RowFigures& figures = explored.rows[place].figures();
    all.dots.push_back({figures.words_per_user, figures.words_per_gpu, "", false});
  }
  std::vector<std::size_t> shown;
  for (const auto* list : {&explored.front, &explored.best})
    for (const std::size_t place : *list)
      if (const std::size_t one = explored.rows[place].configuration; std::ranges::count(shown, one) == 0)
        shown.push_back(one);
  for (const std::size_t one : shown) {
    PlotSeries curve{words.of(explored.configurations[one]), {}};
    std::vector<const Row*> rows;
    for (const Row& row : explored.rows)
      if (row.configuration == one) rows.push_back(&row);
    std::ranges::sort(rows, {}, &Row::load);
    for (const Row* row : rows)
      curve.dots.push_back({row->figures().words_per_user, row->figures().words_per_gpu,
          dot_title(asked, curve.name, *row), row->simulated.has_value()});
    series.push_back(std::move(curve));
  }
  series.push_back(std::move(all));
  return line_plot("tokens/s/GPU over tokens/s/user", {"tokens/s/user", true}, {"tokens/s/GPU", true}, series) +
         "<p class=\"soft\">Each point is a load; a ring marks what was simulated request by request, all others are "
         "of the "
         "mean field. Up and right is better.</p>\n";
}

std::string rows_table(const Asked& asked, const Explored& explored) {
  HtmlTable table("All rows, best first",
      {{"configuration", CellKind::text}, {asked.closed ? "users" : "requests/s"}, {"tokens/s/GPU"}, {"tokens/s/user"},
          {"TPOT, s"}, {"TTFT, s", CellKind::number, "mean; from sending to the first token"}, {"cache"},
          {"$/M tokens"}, {"standing", CellKind::text}});
  const ConfigurationWords words(explored);
  for (const Row& row : explored.rows) {
    const RowFigures& figures = row.figures();
    table.row({html_escaped(words.of(explored.configurations[row.configuration])), fmt::format("{:.4g}", row.load),
        html_count(figures.words_per_gpu), fmt::format("{:.1f}", figures.words_per_user),
        html_seconds(figures.per_word.value()), figures.first_word ? html_seconds(figures.first_word->value()) : "-",
        html_percent(row.state.used_share), row.cost ? fmt::format("{:.3g}", *row.cost) : "-",
        html_escaped(standing_of(row))});
  }
  return table.text();
}

std::string counted(const Explored& explored) {
  std::vector<std::string> items = {
      fmt::format("{} combinations, {} of them with a row", grouped_digits(static_cast<double>(explored.combinations)),
          grouped_digits(static_cast<double>(explored.rows.size())))};
  for (const Refused& refused : explored.refused)
    items.push_back(
        fmt::format("{}: {}", grouped_digits(static_cast<double>(refused.count)), html_escaped(refused.reason)));
  return html_list(items);
}

}  // namespace

std::string sweep_page(const Asked& asked, const Explored& explored) {
  std::string body = fmt::format("<header><h1>{}</h1></header>\n", html_escaped(title_of(asked, explored)));
  body += html_section("front", "Throughput and speed", fronts(asked, explored));
  body += html_section("counted", "What was counted", counted(explored));
  if (!explored.best.empty()) {
    const Row& first = explored.rows[explored.best.front()];
    body += html_section("again", "The first one again",
        "<p><code>" + html_escaped(serve_line(asked, explored.configurations[first.configuration], first.load)) +
            "</code></p>");
  }
  if (!explored.rows.empty()) body += html_section("rows", "All rows", rows_table(asked, explored));
  if (!explored.assumptions.empty()) {
    std::vector<std::string> items;
    for (const std::string& one : explored.assumptions) items.push_back(html_escaped(one));
    body += html_section("assumed", "Defaults and assumptions", html_list(items));
  }
  return page_text({.mark = page_name,
      .title = title_of(asked, explored) + ": stepcast serve-sweep",
      .style = line_plot_style(),
      .body = body,
      .data = "",
      .script = ""});
}

}  // namespace stepcast::serve::sweeping
