#include "studies/compare/draw/compare_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/compare/draw/waterfall.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"

namespace stepcast::comparison {
namespace {

std::string time_cell(double seconds) { return format_seconds(Seconds(seconds)); }
std::string signed_cell(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(Seconds(std::abs(seconds)));
}

std::string page_head(const Beside& beside) {
  const Gap& gap = beside.gap;
  const auto card = [](const std::string& value, const std::string& words) {
    return fmt::format("<div><b>{}</b><span>{}</span></div>\n", html_escaped(value), html_escaped(words));
  };
  std::string text = fmt::format("<header>\n<h1>{} measured, and as it was expected</h1>\n<p id=\"run\">{} beside "
                                 "{}</p>\n<div class=\"figures\">\n",
      html_escaped(beside.what), html_escaped(beside.measured), html_escaped(beside.expected));
  text += card(time_cell(gap.measured), "measured") + card(time_cell(gap.expected), "expected");
  text += card(signed_cell(gap.difference()), fmt::format("{:+.1f} %", 100 * gap.difference() / gap.expected));
  if (beside.p90_s > beside.p10_s)
    text += card(fmt::format("{} to {}", time_cell(beside.p10_s), time_cell(beside.p90_s)),
        gap.measured >= beside.p10_s && gap.measured <= beside.p90_s ? "the forecast's interval: inside"
                                                                     : "the forecast's interval: outside");
  text += "</div>\n";
  std::vector<std::string> notes;
  for (const std::string& note : beside.notes) notes.push_back(html_escaped(note));
  return text + html_list(notes) + "</header>\n";
}

std::string rows_section(const Beside& beside) {
  const Gap& gap = beside.gap;
  HtmlTable table("Rows that sum to the gap", {{"row", CellKind::word}, {"expected"}, {"measured"}, {"difference"},
                                                  {"of the gap"}, {"calls"}, {"interval", CellKind::word}});
  const auto share = [&](double difference) {
    return gap.difference() == 0 ? std::string("-") : fmt::format("{:.0f} %", 100 * difference / gap.difference());
  };
  const auto add = [&](const GapRow& row, const std::string& name) {
    table.row({html_escaped(name), time_cell(row.expected), time_cell(row.measured), signed_cell(row.difference()),
        share(row.difference()),
        row.family == SplitFamily::idle ? "" : fmt::format("{} for {}", row.measured_calls, row.expected_calls),
        !row.has_interval() ? ""
        : row.inside()      ? "inside"
                            : "outside"});
  };
  for (const GapRow& row : gap.rows) {
    add(row, (row.family == SplitFamily::exposed ? "exposed " : "") + row.name);
    if (row.parts.size() < 2) continue;
    for (const GapRow& part : row.parts) add(part, "\u2014 " + part.name);
  }
  table.row({"all", time_cell(gap.expected), time_cell(gap.measured), signed_cell(gap.difference()),
      share(gap.difference()), "", ""});
  return html_section("rows", "Where they differ", table.text());
}

std::string causes_section(const Beside& beside) {
  if (beside.causes.empty())
    return html_section("causes", "Causes", "<p>None: no difference of a thousandth of the step.</p>\n");
  HtmlTable table("Causes in order of seconds", {{"cause", CellKind::word}, {"seconds"}, {"of", CellKind::text},
                                                    {"evidence", CellKind::text}, {"lever", CellKind::text}});
  for (const GapCause& cause : beside.causes)
    table.row({html_escaped(to_text(cause.kind, cause.seconds)), signed_cell(cause.seconds),
        html_escaped(cause.subject), html_escaped(cause.evidence), cause.seconds > 0 ? html_escaped(cause.lever) : ""});
  return html_section("causes", "Causes", table.text());
}

constexpr const char* timelines_body = R"html(<p class="soft">Wheel or + and - zoom both, drag or the arrows move them,
0 shows all. The table follows the window.</p>
<p id="controls"><button id="in">zoom in</button> <button id="out">zoom out</button> <button id="all">show all</button>
<span id="window"></span></p>
<div id="drawings"></div>
<div class="scroll"><table id="sums"><thead><tr><th>in the window</th><th class="num">expected</th>
<th class="num">measured</th><th class="num">difference</th></tr></thead><tbody></tbody></table></div>
)html";

void write_side(JsonWriter& json, const DrawnTrace& drawn) {
  json.fields("title", drawn.title, "seconds", drawn.seconds, "names", drawn.names);
  std::vector<double> flat;
  for (const DrawnBar& bar : drawn.bars)
    for (const double number :
        {static_cast<double>(bar.lane), static_cast<double>(bar.kind), static_cast<double>(bar.name),
            static_cast<double>(bar.start), static_cast<double>(bar.length), static_cast<double>(bar.events)})
      flat.push_back(number);
  json.field("bars", flat);
}

std::string page_data(const DrawnTrace& expected, const DrawnTrace& measured) {
  std::vector<std::string> kinds;
  for (int kind = 0; kind < work_kinds; ++kind) kinds.emplace_back(to_text(static_cast<WorkKind>(kind)));
  JsonWriter json;
  json.open();
  json.fields("kinds", kinds, "lanes", std::vector<std::string>{"compute", "communication", "copies", "host"});
  json.open("expected");
  write_side(json, expected);
  json.close();
  json.open("measured");
  write_side(json, measured);
  json.close();
  json.close();
  return json.text();
}

}  // namespace

std::string compare_page(const Beside& beside, const DrawnTrace& expected, const DrawnTrace& measured) {
  const auto files = embedded_comparison();
  return page_text({.mark = "comparison",
      .title = fmt::format("{} beside {}: stepcast compare", beside.measured, beside.expected),
      .style = texts_ending_with(files, ".css"),
      .body = page_head(beside) + html_section("waterfall", "From expected to measured", waterfall_svg(beside)) +
              rows_section(beside) + causes_section(beside) +
              html_section("timelines", "Both timelines", timelines_body),
      .data = page_data(expected, measured),
      .script = texts_ending_with(files, ".js")});
}

}  // namespace stepcast::comparison
