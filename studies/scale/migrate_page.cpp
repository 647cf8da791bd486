#include "studies/scale/migrate_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/line_plot.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"

namespace stepcast::scale {
namespace {

using print::CellKind, print::html_escaped, print::HtmlTable, print::PlotSeries;

/// MFU of each way over GPUs, of one network; the fastest at each count stands out.
std::string picture(const Migration& path, const std::string& network) {
  std::vector<PlotSeries> curves;
  for (std::size_t rung = 0; rung < rungs().size(); ++rung) {
    PlotSeries curve{std::string(rungs()[rung].name), {}};
    for (const SizeOnPath& size : path.sizes) {
      const RungRun& run = size.rungs[rung];
      if (size.network != network || !run.works()) continue;
      curve.dots.push_back({static_cast<double>(size.gpus), 100 * run.mfu,
          fmt::format("{} GPUs: {} of {}, {}; {}{}{}", size.gpus, format_percent(run.mfu), rungs()[rung].name, run.plan,
              to_text(run.binds), run.why.empty() ? "" : ", ", run.why),
          static_cast<int>(rung) == size.best});
    }
    if (!curve.dots.empty()) curves.push_back(std::move(curve));
  }
  return "<h3>" + html_escaped(network) + "</h3>\n" +
         print::line_plot("MFU of each way over GPUs", {"GPUs", true}, {"MFU, %"}, curves);
}

std::string sizes_table(const Migration& path) {
  HtmlTable table("Sizes", {{"network", CellKind::word}, {"GPUs"}, {"batch"}, {"fastest", CellKind::word},
                               {"plan", CellKind::word}, {"step"}, {"MFU"}, {"binds", CellKind::text}});
  for (const SizeOnPath& size : path.sizes) {
    std::vector<std::string> cells = {html_escaped(size.network), print::html_count(static_cast<double>(size.gpus)),
        print::html_count(static_cast<double>(size.global_batch))};
    if (size.best < 0) {
      cells.insert(cells.end(), {"none", "", "", "", ""});
    } else {
      const RungRun& run = size.rungs[static_cast<std::size_t>(size.best)];
      cells.insert(cells.end(), {std::string(rungs()[static_cast<std::size_t>(size.best)].name), run.plan,
                                    format_seconds(run.outcome->step_time), format_percent(run.mfu),
                                    html_escaped(fmt::format("{} {}", to_text(run.binds), run.why))});
    }
    table.row(cells);
  }
  return table.text();
}

}  // namespace

std::string migration_page(const Migration& path, const Request& request) {
  const std::string title = "When to change the sharding, on " + request.machine->row.name;
  std::vector<std::string> networks, lines;
  for (const SizeOnPath& size : path.sizes)
    if (std::ranges::find(networks, size.network) == networks.end()) networks.push_back(size.network);
  for (const std::string& line : path_lines(path)) lines.push_back(html_escaped(line));
  std::string pictures;
  for (const std::string& network : networks) pictures += picture(path, network);
  const std::string body =
      fmt::format("<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n", html_escaped(title),
          path.scaling == Scaling::strong ? "the global batch stays" : "the global batch grows with the GPUs") +
      print::html_section("path", "The path", print::html_list(lines)) +
      print::html_section("mfu", "MFU of each way over GPUs", pictures) +
      print::html_section("sizes", "Sizes", sizes_table(path));
  return print::page_text({.mark = migration_page_mark,
      .title = title,
      .style = print::line_plot_style(),
      .body = body,
      .data = "",
      .script = ""});
}

}  // namespace stepcast::scale
