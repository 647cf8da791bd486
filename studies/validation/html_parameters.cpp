// The step parameters in force, as the profiles keep them, and what each stands for.
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/catalog.h"
#include "model/step_tuning.h"
#include "studies/validation/html_page.h"
#include "studies/print/page/html_text.h"

namespace stepcast::validation {
namespace {

std::string meanings() {
  HtmlTable table("What the parameters stand for",
      {{"Parameter", CellKind::word}, {"plausible", CellKind::word}, {"stands for", CellKind::text}});
  for (const StepParameterRow& row : step_parameters()) {
    const double scale = row.unit.empty() ? 1 : 1e6;
    table.row({std::string(row.id),
        fmt::format("{:g} to {:g}{}", scale * row.low, scale * row.high, row.unit.empty() ? "" : " &#181;s"),
        html_escaped(row.meaning)});
  }
  return table.text();
}

}  // namespace

std::string html_parameters() {
  HtmlTable table(
      "Step parameters", {{"Software", CellKind::word}, {"precision", CellKind::word}, {"fitted on", CellKind::word},
                             {"values", CellKind::word}, {"runs"}, {"fitted MAPE"}, {"held-out MAPE"},
                             {"left out", CellKind::word}, {"measured over forecast", CellKind::word}});
  std::set<std::string> seen;  // profiles of one architecture share a fit
  for (const ProfileRow& row : built_in().profiles)
    for (const StepFit& fit : row.steps().steps) {
      const std::string gpus = fmt::format("{}", fmt::join(fit.gpus, ", "));
      if (!seen.insert(fit.stack + to_text(fit.precision) + gpus + (fit.experts ? "+" : "-")).second) continue;
      table.row({html_escaped(fit.stack) + (fit.experts ? ", experts" : ""), to_text(fit.precision), html_escaped(gpus),
          html_escaped(fit_text(fit)), html_count(fit.runs), html_percent(fit.mape),
          fit.groups > 0 ? html_percent(fit.held_out_mape) : "&#8211;",
          fit.groups > 0 ? html_escaped(fit.left_out) : "nothing",
          fmt::format("{:.2f} to {:.2f}", fit.spread.p10, fit.spread.p90)});
    }
  if (table.empty()) return {};
  return "<p>At most three numbers per software, precision and kind of GPU and network, fitted on measured steps; all "
         "else comes from timed kernels, "
         "collectives and the software's own rules. <code>stepcast calibrate runs built-in</code> repeats the "
         "fits.</p>\n" +
         table.text() + meanings();
}

}  // namespace stepcast::validation
