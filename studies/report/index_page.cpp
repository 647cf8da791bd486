// The forecast as a page: what the step takes, where the time goes, what moves, what was assumed.
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/report/page_parts.h"
#include "studies/print/page/html_text.h"
#include "studies/run/figures/collectives.h"
#include "studies/run/figures/phases.h"
#include "studies/roofline/draw/pictures.h"

namespace stepcast::report {
namespace {

std::string index_figures(const Dossier& dossier) {
  const Prediction& prediction = dossier.prediction;
  const StepReport& step = prediction.step;
  const MemoryReport& memory = step.memory;
  std::vector<HeadFigure> figures = fit_figures(memory);
  figures.insert(figures.end(),
      {{format_seconds(step.step_time),
           fmt::format("step time, {} to {} (80 % interval)", format_seconds(step.p10), format_seconds(step.p90))},
          {grouped_digits(step.tokens_per_s_per_gpu), "tokens per second and GPU"},
          {format_percent(prediction.mfu), fmt::format("MFU of {}, attention counted {}", format_flops(prediction.peak),
                                               dossier.scenario.causal_attention ? "causal" : "full")},
          {format_percent(prediction.hfu), "HFU: as executed, with recompute"},
          {format_percent(step.bubble_fraction), "pipeline bubble: idle share over all stages"},
          {format_bytes(memory.peak), fmt::format("of {} on the fullest rank: {}", format_bytes(memory.capacity),
                                          memory.fits ? "fits" : "does NOT fit")}});
  return head_figures(figures);
}

std::string warning_box(const Dossier& dossier) {
  std::vector<std::string> items;
  for (const std::string& warning : dossier.prediction.warnings) items.push_back(html_escaped(warning));
  return items.empty() ? "" : "<div class=\"warn\" role=\"note\">\n<b>Warnings</b>\n" + html_list(items) + "</div>\n";
}

std::string phases_table(const Dossier& dossier) {
  const StepReport& step = dossier.prediction.step;
  HtmlTable table("Where the time goes", {{"phase", CellKind::word}, {"time"}, {"share of the step"}});
  for (const PhaseRow& row : phase_rows(step.phases)) {
    const double share = row.time / step.step_time;
    table.row({html_escaped(row.name), format_seconds(row.time), bar_cell(share, format_percent(share))});
  }
  return table.text();
}

std::string stages_table(const Dossier& dossier) {
  HtmlTable table("Stages", {{"stage"}, {"layers"}, {"forward"}, {"input gradient"}, {"weight gradient"}});
  const std::vector<StageReport>& stages = dossier.prediction.step.stages;
  for (std::size_t i = 0; i < stages.size(); ++i)
    table.row({fmt::format("{}", i), fmt::format("{}", stages[i].layers), format_seconds(stages[i].forward),
        format_seconds(stages[i].input_grad), format_seconds(stages[i].weight_grad)});
  return table.text();
}

std::string collectives_table(const Dossier& dossier) {
  const StepReport& step = dossier.prediction.step;
  HtmlTable table(
      "Collectives", {{"collective", CellKind::word}, {"axis", CellKind::word}, {"GPUs"}, {"span", CellKind::word},
                         {"calls"}, {"received"}, {"time"}, {"exposed"}, {"source", CellKind::word}});
  for (const CollectiveSum& sum : joined_collectives(step))
    table.row({html_escaped(sum.kind), html_escaped(sum.axis), fmt::format("{}", sum.group_size),
        html_escaped(sum.span), grouped_digits(sum.count), format_bytes_decimal(sum.received), format_seconds(sum.time),
        bar_cell(sum.exposed / step.step_time, format_seconds(sum.exposed)), to_text(sum.source)});
  return table.empty() ? "<p>None: no tensor crosses a GPU's border.</p>\n" : table.text();
}

std::string assumed_list(const Dossier& dossier) {
  std::vector<std::string> items;
  for (const Assumption& one : dossier.scenario.assumptions)
    items.push_back(
        html_escaped(fmt::format("{} {}{}", one.flag, one.value, one.why == "default" ? "" : " (" + one.why + ")")));
  for (const Remark& remark : dossier.scenario.remarks) items.push_back(html_escaped(remark.text));
  for (const Note& note : dossier.prediction.program.notes) items.push_back(html_escaped(note.text));
  for (const std::string& note : dossier.prediction.step.notes) items.push_back(html_escaped(note));
  return items.empty() ? "<p>None.</p>\n" : html_list(items);
}

/// Pages that this report lacks, and why.
std::string missing_notes(const Dossier& dossier) {
  std::string text;
  if (!dossier.explained)
    text += fmt::format("<p class=\"soft\">No mapping page: {}</p>\n", Dossier::explained_missing);
  if (!dossier.sweep) text += fmt::format("<p class=\"soft\">No sweep: {}</p>\n", html_escaped(dossier.sweep_missing));
  return text;
}

}  // namespace

std::string index_page(const Dossier& dossier) {
  const std::string body =
      index_figures(dossier) + warning_box(dossier) +
      html_section("waterfall-section", "Where the step goes",
          "<div class=\"wide\">" + on_both_sheets(waterfall_svg, dossier.roofline) + "</div>\n") +
      html_section("phases", "Phases, on a rank of the slowest stage", phases_table(dossier)) +
      html_section("stages", "Stages, one micro-batch", stages_table(dossier)) +
      html_section("collectives", "Collectives, one GPU of the slowest stage, whole step", collectives_table(dossier)) +
      html_section("assumed", "Defaults and assumptions", assumed_list(dossier)) +
      html_section("again", "The same run again",
          "<pre>" + html_escaped(dossier.command) +
              "\nstepcast predict scenario.json\nstepcast timeline scenario.json -o trace.json</pre>\n" +
              missing_notes(dossier));
  return static_page(dossier, "Forecast of a training step", "index.html", body);
}

}  // namespace stepcast::report
