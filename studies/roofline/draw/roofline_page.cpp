// The roofline's page: what ran, four pictures with a table each, and under which circumstances the figures hold. All
// of it is readable without the script, which moves, filters and explains the marks.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/version.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"
#include "studies/roofline/draw/page.h"
#include "studies/roofline/draw/page_tables.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {
namespace {

std::string roofline_card(const std::string& value, const std::string& words) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, words);
}

std::string roofline_cards(const RooflineReport& report) {
  std::string text = "<div class=\"figures\">\n";
  if (!report.too_much.empty()) text += roofline_card("does NOT fit", html_escaped(report.too_much));
  text += roofline_card(format_seconds(report.step_time),
      fmt::format("a step; 8 of 10 cases in {} to {}", format_seconds(report.p10), format_seconds(report.p90)));
  text += roofline_card(
      html_percent(report.fall.mfu), fmt::format("MFU: model FLOPs over the peak, {}", attention_words(report.fall)));
  text += roofline_card(html_percent(report.fall.hfu), "HFU: with what is computed again");
  const FlopsPerSecond peak = report.roofs.peak(report.precision);
  if (peak.value() > 0)
    text += roofline_card(
        format_flops(peak), fmt::format("peak of one {} in {}", html_escaped(report.gpu), to_text(report.precision)));
  return text + "</div>\n";
}

std::string roofline_head(const RooflineReport& report) {
  return fmt::format(
             "<header>\n<h1>{} on {}</h1>\n<p>Roofline of a training step on {}, {}. Forecast by stepcast {}.</p>\n",
             html_escaped(report.network), html_escaped(report.machine),
             html_plural(static_cast<std::size_t>(report.gpus), "GPU", "GPUs"), html_escaped(report.split), version()) +
         roofline_cards(report) +
         "<nav aria-label=\"Sections\">\n<a href=\"#kernels\">Kernels</a>\n<a href=\"#network\">Network</a>\n"
         "<a href=\"#dataflow\">Dataflow</a>\n<a href=\"#step\">The step</a>\n<a "
         "href=\"#provenance\">Provenance</a>\n</nav>\n</header>\n";
}

std::vector<std::string> all_escaped(const std::vector<std::string>& texts) {
  std::vector<std::string> safe;
  for (const std::string& text : texts) safe.push_back(html_escaped(text));
  return safe;
}

/// Points above a roof first: their figures are not to be trusted before the cause is known.
std::string roofline_warnings(const RooflineReport& report) {
  std::vector<std::string> items = report.warnings;
  const std::size_t own = std::min(report.forecast_warnings, items.size());
  std::rotate(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(own), items.end());
  if (items.empty()) return "";
  return "<section id=\"warnings\" class=\"warnings\">\n<h2>Warnings</h2>\n" + html_list(all_escaped(items)) +
         "</section>\n";
}

std::string roofline_notes(const std::vector<std::string>& notes) {
  return notes.empty() ? "" : "<div class=\"soft notes\">\n" + html_list(all_escaped(notes)) + "</div>\n";
}

/// `id` of the figure; the script finds the picture in it and writes what is pointed at into it.
std::string roofline_figure(const std::string& id, const std::string& caption, const std::string& svg) {
  return fmt::format(
      "<figure id=\"{0}-figure\">\n<div class=\"stage\"><div class=\"sideways\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{1}\">\n{2}</div></div>\n</figure>\n",
      id, html_escaped(caption), svg);
}

/// A table that stands folded: it is looked up, not read.
std::string roofline_details(const std::string& title, const std::string& table) {
  return table.empty() ? "" : html_details(title, "<div class=\"rows\">\n" + table + "</div>\n");
}

/// A table that the script sorts and joins with the marks.
std::string roofline_rows(const std::string& id, const std::string& title, const std::string& table) {
  return table.empty() ? "" : fmt::format("<h3>{}</h3>\n<div id=\"{}\" class=\"rows\">\n{}</div>\n", title, id, table);
}

std::string kernel_section(const RooflineReport& report) {
  return html_section("kernels", "Kernels under the roofs of one GPU",
      "<p class=\"soft\">Across: FLOPs per byte. Up: FLOPs per second. Area: share of the step. Dashed roofs are the "
      "datasheet's, "
      "solid ones were measured or fitted.</p>\n" +
          texts_ending_with(embedded_roofline(), "controls.html") +
          roofline_figure("kernel", "Kernel roofline", on_both_sheets(kernel_roofline_svg, report)) +
          roofline_notes(report.roofs.notes) +
          roofline_rows("kernel-table", "Operators, heaviest first", kernel_table(report)) +
          roofline_rows("loose-table", "Timed kernels that are no operator of this run", loose_table(report)) +
          roofline_details("Roofs and what they rest on", roof_table(report)));
}

std::string network_section(const RooflineReport& report) {
  return html_section("network", "Moves under the roofs of the links",
      "<p class=\"soft\">Across: FLOPs that a rank executes per byte that a move brings it. Up: the FLOPs per second "
      "that compute could "
      "reach if this move were the only limit. Below the flat roof a move costs time unless it is hidden; the filled "
      "part is what is "
      "exposed.</p>\n" +
          roofline_figure("network", "Network roofline", on_both_sheets(network_roofline_svg, report)) +
          roofline_notes(report.links.notes) +
          roofline_rows("network-table", "Moves, longest first", network_table(report)));
}

std::string nest_list(const RooflineReport& report) {
  HtmlTable table("Loops of each operator",
      {{"operator", CellKind::word}, {"shape", CellKind::word}, {"limit", CellKind::word}, {"loops", CellKind::text}});
  for (const OperatorBoundaries& one : report.boundaries)
    table.row({html_escaped(one.block + " " + one.name), html_escaped(one.shape), html_escaped(one.limit),
        "<code>" + html_escaped(one.nest) + "</code>"});
  return table.empty() ? "" : roofline_details("Loops of each operator, as the notation writes them", table.text());
}

std::string dataflow_section(const RooflineReport& report) {
  if (report.boundaries.empty()) return "";
  return html_section("dataflow", "The same operators at every boundary",
      "<p class=\"soft\">From the multiply-adds outwards: what crosses each boundary in one call, which tensor stays "
      "inside it, and which boundary takes longest.</p>\n" +
          roofline_figure("dataflow", "Boundaries", on_both_sheets(boundaries_svg, report)) +
          roofline_rows("dataflow-table", "Boundaries of each operator", boundaries_table(report)) + nest_list(report));
}

std::string step_section(const RooflineReport& report) {
  std::string levers = roofline_rows("lever-table", "What would help most", lever_table(report));
  if (levers.empty() && !report.fall.levers_missing.empty())
    levers = "<p class=\"soft\">No levers: " + html_escaped(report.fall.levers_missing) + ".</p>\n";
  return html_section("step", "Where the step goes",
      fmt::format(
          "<p class=\"soft\">On a rank of the slowest stage; the bars sum to the step of {}. MFU {} ({}), HFU {}: "
          "over all GPUs, so that they end elsewhere than these bars where stages or number types differ.</p>\n",
          format_seconds(report.fall.step_time), html_percent(report.fall.mfu), attention_words(report.fall),
          html_percent(report.fall.hfu)) +
          roofline_figure("step", "Waterfall of the step", on_both_sheets(waterfall_svg, report)) +
          roofline_rows("step-table", "Parts of the step", waterfall_table(report)) + levers);
}

std::string provenance_section(const RooflineReport& report) {
  HtmlTable table("Provenance", {{"what", CellKind::word}, {"value", CellKind::text}});
  for (const Provenance::Fact& fact : report.provenance.facts)
    table.row({html_escaped(fact.name), html_escaped(fact.value)});
  std::string text = table.empty() ? "" : table.text();
  if (!report.provenance.assumptions.empty())
    text += "<h3>Assumptions</h3>\n" + html_list(all_escaped(report.provenance.assumptions));
  return html_section("provenance", "What the figures rest on", text);
}

}  // namespace

std::string roofline_page(const RooflineReport& report) {
  const auto files = embedded_roofline();
  return page_text({.mark = "roofline",
      .title = fmt::format("{} on {}: stepcast roofline", report.network, report.machine),
      .style = picture_style() + texts_ending_with(files, ".css"),
      .body = roofline_head(report) + roofline_warnings(report) + kernel_section(report) + network_section(report) +
              dataflow_section(report) + step_section(report) + provenance_section(report),
      .data = roofline_json(report),
      .script = texts_ending_with(files, ".js")});
}

}  // namespace stepcast::roofline
