// The mapping as a page: every alias written out, which line split what, and the price of every kernel and move.
#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/report/page_parts.h"
#include "studies/print/page/html_text.h"

namespace stepcast::report {
namespace {

std::string choices_table(const Explanation& mapping) {
  HtmlTable table("Who splits what", {{"operator", CellKind::word}, {"block", CellKind::word}, {"axis", CellKind::word},
                                         {"splits", CellKind::word}, {"by the line", CellKind::text}});
  for (const Explanation::Choice& choice : mapping.choices)
    table.row({html_escaped(choice.op), html_escaped(choice.block), html_escaped(choice.axis),
        choice.loop.empty() ? "-" : html_escaped(choice.loop),
        choice.statement.empty() ? "no line: repeated" : html_escaped(choice.statement)});
  return table.text();
}

std::string kernels_table(const std::vector<PriceRow>& rows) {
  HtmlTable table(
      "Kernels", {{"kernel", CellKind::word}, {"block", CellKind::word}, {"pass", CellKind::word}, {"shape"}, {"FLOPs"},
                     {"memory"}, {"time"}, {"interval"}, {"source", CellKind::word}, {"law", CellKind::word}});
  for (const PriceRow& row : rows)
    table.row({html_escaped(row.label), html_escaped(row.block), row.pass, html_escaped(row.shape),
        row.flops > Flops(0) ? format_flops(row.flops) : "-", format_bytes_decimal(row.bytes), format_seconds(row.time),
        spread_text(row.spread), to_text(row.source), html_escaped(row.law)});
  return table.text();
}

std::string moves_table(const std::vector<PriceRow>& rows) {
  HtmlTable table("Moves", {{"move", CellKind::word}, {"block", CellKind::word}, {"pass", CellKind::word},
                               {"group", CellKind::word}, {"received"}, {"time"}, {"interval"},
                               {"source", CellKind::word}, {"law", CellKind::word}, {"because", CellKind::text}});
  for (const PriceRow& row : rows)
    table.row({html_escaped(row.label), html_escaped(row.block), row.pass, html_escaped(row.shape),
        format_bytes_decimal(row.bytes), format_seconds(row.time), spread_text(row.spread), to_text(row.source),
        html_escaped(row.law), html_escaped(row.because)});
  return table.text();
}

}  // namespace

std::string mapping_page(const Dossier& dossier) {
  const Explained& explained = *dossier.explained;
  const std::string body =
      html_section("mapping", "The mapping, every alias written out",
          "<pre>" + html_escaped(explained.mapping.expanded) + "</pre>\n") +
      html_section("choices", "Who splits what: the first line whose loop the operator has wins",
          choices_table(explained.mapping)) +
      html_section("kernels", "Kernels of one micro-batch of one layer, on one GPU", kernels_table(explained.kernels)) +
      html_section("moves", "Moves: one call on one GPU, alone on its fabric", moves_table(explained.moves));
  return static_page(dossier, "Mapping", "mapping.html", body);
}

}  // namespace stepcast::report
