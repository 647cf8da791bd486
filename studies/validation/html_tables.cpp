// The page's tables of figures: classes, other tools, ranking, memory, every run.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "studies/validation/html_page.h"
#include "studies/print/page/html_text.h"
#include "studies/validation/peers.h"

namespace stepcast::validation {
namespace {

const std::string none = "&#8211;";

std::string count_cell(std::size_t n) { return html_count(static_cast<double>(n)); }
std::string maybe_cell(bool known, const std::string& text) { return known ? text : none; }

/// A rival's figure beside ours says in words when it is ahead.
std::string rival_cell(double rival, double ours) { return html_percent(rival) + (rival < ours ? ", better" : ""); }

const std::vector<HtmlColumn> class_columns = {{"Class", CellKind::word},
    {"n", CellKind::number, "runs without doubtful ones"},
    {"held-out MAPE", CellKind::number,
        "mean of |error|, each run forecast by parameters fitted without its own group"},
    {"left out at once", CellKind::word,
        "all runs of one ...; source: of one publication, or of one model where a software has a single publication"},
    {"goal", CellKind::word, "the held-out MAPE that we mean to stay below"},
    {"fitted MAPE", CellKind::number, "mean of |error|, parameters fitted on all runs"},
    {"bias", CellKind::number, "mean of error; negative: forecasts are too fast"},
    {"p90", CellKind::number, "90th percentile of |error|"},
    {"worst", CellKind::number, "error of the largest |error|"},
    {"in 80 %", CellKind::number, "share of runs inside their 80 % interval; 80 % is right, much more is too wide"},
    {"rank", CellKind::number, "Spearman's correlation of forecast and measured FLOP/s per GPU"},
    {"regret", CellKind::number, "what taking the forecast's best split costs over the best one, mean over groups"},
    {"median rate", CellKind::number, "MAPE if every run is forecast at the class's median FLOP/s per GPU"},
    {"closed form", CellKind::number, "held-out MAPE of a closed form with as many parameters"},
    {"doubtful", CellKind::number, "runs that are no witnesses, left out of this row"},
    {"with doubtful", CellKind::number, "held-out MAPE with them"}};

/// A held-out figure is ahead or behind only of another.
std::string closed_form_cell(const JudgedRow& row) {
  const double other = row.judged->closed_form;
  if (other <= 0) return none;
  return row.held_out.n > 0 ? rival_cell(other, row.held_out.mape) : html_percent(other);
}

void class_row_cells(HtmlTable& table, const JudgedRow& row) {
  const bool made = row.held_out.n > 0;
  const ErrorSummary& shown = made ? row.held_out : row.fitted;
  table.row({html_escaped(row.judged->name), count_cell(shown.n),
      maybe_cell(made, "<b>" + html_percent(row.held_out.mape) + "</b>"), html_escaped(row.left_out), goal_verdict(row),
      maybe_cell(row.fitted.n > 0, html_percent(row.fitted.mape)), html_signed_percent(shown.bias),
      html_percent(shown.p90), html_signed_percent(shown.worst), maybe_cell(shown.n > 0, html_percent(row.coverage)),
      fmt::format("{:.2f}", row.spearman),
      maybe_cell(
          row.groups > 0, fmt::format("{} ({})", html_percent(row.regret), html_plural(row.groups, "group", "groups"))),
      rival_cell(row.baseline_mape, shown.mape), closed_form_cell(row), count_cell(row.doubtful),
      maybe_cell(row.with_doubts.n > 0, html_percent(row.with_doubts.mape))});
}

std::string judged_table(const std::vector<JudgedRow>& judged) {
  HtmlTable table("Errors by judged class", class_columns);
  for (const JudgedRow& row : judged) class_row_cells(table, row);
  return table.empty() ? "" : table.text();
}

/// What `stepcast validate` prints: finer classes, everything fitted.
std::string fine_table(const Validation& validation) {
  HtmlTable table(
      "Errors by GPU, precision, kind and stack", {{"Class", CellKind::word}, {"n"}, {"fitted MAPE"}, {"bias"}, {"p90"},
                                                      {"worst"}, {"in 80 %"}, {"rank"}, {"regret"}, {"median rate"}});
  for (const ValidatedClass& row : validation.classes) {
    if (row.by_source) continue;
    table.row({html_escaped(row.name), count_cell(row.error.n), html_percent(row.error.mape),
        html_signed_percent(row.error.bias), html_percent(row.error.p90), html_signed_percent(row.error.worst),
        html_percent(row.coverage), maybe_cell(row.groups > 0, fmt::format("{:.2f}", row.spearman)),
        maybe_cell(row.groups > 0, html_percent(row.regret)), rival_cell(row.baseline_mape, row.error.mape)});
  }
  return table.empty() ? "" : table.text();
}

std::string peer_figures(const PeerError& peer) {
  std::string text;
  if (peer.mape) text = fmt::format("{:.4g} %", 100 * *peer.mape);  // with the digits that were published
  if (peer.at_most) text += fmt::format("{}at most {:.4g} %", text.empty() ? "" : "; ", 100 * *peer.at_most);
  return text;
}

std::string ours_cell(const ErrorSummary& ours) {
  return ours.n == 0 ? none : fmt::format("{} ({})", html_percent(ours.mape), html_plural(ours.n, "run", "runs"));
}

std::string worst_table(const CaseList& cases) {
  constexpr std::size_t shown = 12;
  CaseList worst = cases;
  std::stable_sort(worst.begin(), worst.end(), [](const ValidatedCase* a, const ValidatedCase* b) {
    return std::abs(shown_forecast(*a).error) > std::abs(shown_forecast(*b).error);
  });
  if (worst.size() > shown) worst.resize(shown);
  HtmlTable table("Largest errors", {{"Run", CellKind::word}, {"error"}, {"measured, s"}, {"forecast, s"},
                                        {"class", CellKind::word}, {"record", CellKind::text}});
  for (const ValidatedCase* row : worst) {
    const ShownForecast forecast = shown_forecast(*row);
    table.row({html_escaped(row->id), html_signed_percent(forecast.error), html_seconds(row->measured_s),
        html_seconds(forecast.seconds), html_escaped(row->class_name()),
        row->doubt.empty() ? "" : "doubtful: " + html_escaped(row->doubt)});
  }
  return table.text();
}

CaseList with_memory(const Validation& validation) {
  CaseList cases;
  for (const ValidatedCase& row : validation.cases)
    if (row.measured_memory > 0) cases.push_back(&row);
  return cases;
}

}  // namespace

std::string goal_verdict(const JudgedRow& row) {
  const double goal = row.judged->goal;
  if (goal <= 0) return "none set";
  const std::string wanted = html_percent(goal);
  if (row.held_out.n == 0) return wanted + "; no hold-out was made";
  if (row.held_out.mape <= goal) return "&#10003; within " + wanted;
  const double missed = 100 * (row.held_out.mape - goal);
  return fmt::format("&#10007; misses {} by {:.{}f} points", wanted, missed, missed < 0.1 ? 3 : 1);
}

std::string html_classes(const Validation& validation, const std::vector<JudgedRow>& judged) {
  std::string text;
  const bool made = std::any_of(judged.begin(), judged.end(), [](const JudgedRow& row) { return row.held_out.n > 0; });
  if (!judged.empty() && !made)
    text +=
        "<p><b>No hold-out was made</b> (--hold-out makes it): bias, p90 and worst are of forecasts whose parameters "
        "were fitted on these very runs.</p>\n";
  if (made)
    text +=
        "<p>Bias, p90 and worst are of the held-out forecasts where those were made. A class whose runs are few has "
        "wide figures of its own; read n first.</p>\n";
  text += judged_table(judged);
  const std::string fine = fine_table(validation);
  if (fine.empty()) return text;
  return text + (judged.empty() ? fine : html_details("Finer classes, everything fitted", fine));
}

std::string html_peers(const Validation& validation) {
  HtmlTable table("Errors of other tools",
      {{"Tool", CellKind::word}, {"judged on", CellKind::text}, {"n"}, {"its MAPE"}, {"stepcast, held out"},
          {"stepcast, fitted"}, {"who says so", CellKind::word}, {"its bias"}, {"its worst"},
          {"after one factor", CellKind::number, "its MAPE once one factor was fitted to all these cases"},
          {"source", CellKind::text}, {"note", CellKind::text}});
  for (const PeerError& peer : peer_errors()) {
    const OursOnPeer ours = ours_on(peer, validation.cases);
    const std::string judged_on = html_escaped(peer.judged_on) + (peer.of_memory ? "; peak memory" : "");
    table.row({html_escaped(peer.tool), judged_on, peer.n ? html_count(static_cast<double>(*peer.n)) : none,
        peer_figures(peer), peer.of_memory ? none : ours_cell(ours.held_out),
        ours_cell(peer.of_memory ? ours.memory : ours.fitted), html_escaped(to_text(peer.claim)),
        peer.bias ? html_signed_percent(*peer.bias) : none, peer.worst ? html_signed_percent(*peer.worst) : none,
        peer.after_factor ? html_percent(*peer.after_factor) : none, html_escaped(peer.source),
        html_escaped(peer.note)});
  }
  return "<p>&#8220;Authors&#8221; is what a tool's authors publish; &#8220;rerun&#8221; what a run of the tool as "
         "shipped gave. Our figures are of those of the same cases that are among the "
         "runs here, doubtful ones too, so n may be smaller. Figures of different cases compare badly: where our "
         "columns are empty, none of the tool's cases is here.</p>\n" +
         table.text();
}

std::string html_ranking(const Validation& validation) {
  HtmlTable table("Ranking of splits",
      {{"Same model, GPUs and batch", CellKind::word}, {"class", CellKind::word}, {"n"},
          {"rank", CellKind::number, "Spearman's correlation of forecast and measured step times"},
          {"regret", CellKind::number, "measured time of the forecast's first choice over the best, minus 1"}});
  for (const RankedGroup& group : validation.groups)
    table.row({html_escaped(group.name), html_escaped(group.class_name), count_cell(group.n),
        fmt::format("{:.2f}", group.spearman), html_percent(group.regret)});
  if (table.empty()) return {};
  return "<p>Runs that differ only in how the work is split, four at least: does the forecast put them in the right "
         "order, and what would its first choice have cost? Everything fitted.</p>\n" +
         table.text();
}

std::string html_memory(const Validation& validation) {
  const CaseList cases = with_memory(validation);
  if (cases.empty()) return {};
  HtmlTable table("Errors of peak memory", {{"Class", CellKind::word}, {"n"}, {"MAPE"}, {"bias"}, {"p90"}, {"worst"}});
  for (const ValidatedClass& row : validation.classes)
    if (!row.by_source && row.memory.n > 0)
      table.row({html_escaped(row.name), count_cell(row.memory.n), html_percent(row.memory.mape),
          html_signed_percent(row.memory.bias), html_percent(row.memory.p90), html_signed_percent(row.memory.worst)});
  return "<p>Only where the source gives the peak of PyTorch's allocated memory; reserved and device-wide figures also "
         "hold what each framework happens to keep. Nothing is fitted to memory.</p>\n" +
         table.text() + "<div class=\"panels\"><figure><figcaption><b>Peak allocated memory</b>" +
         html_plural(cases.size(), "run", "runs") + "</figcaption>\n" + memory_scatter(cases) + "</figure></div>\n";
}

std::string html_runs(const std::vector<CasePanel>& panels) {
  HtmlTable table(
      "Every run", {{"Run", CellKind::word}, {"class", CellKind::word}, {"measured, s"}, {"fitted, s"}, {"held out, s"},
                       {"error"}, {"in 80 %", CellKind::word}, {"record", CellKind::text}});
  CaseList all;
  std::set<const ValidatedCase*> listed;  // classes may overlap
  for (const CasePanel& panel : panels)
    for (const ValidatedCase* row : panel.cases) {
      if (!listed.insert(row).second) continue;
      all.push_back(row);
      const ShownForecast shown = shown_forecast(*row);
      const std::string record =
          std::string(row->time_reported ? "" : "time derived from a rate") + (row->doubt.empty()      ? ""
                                                                                  : row->time_reported ? "doubtful"
                                                                                                       : "; doubtful");
      table.row({html_escaped(row->id), html_escaped(panel.name), html_seconds(row->measured_s),
          html_seconds(row->predicted_s), maybe_cell(shown.held_out, html_seconds(row->held_out_s)),
          html_signed_percent(shown.error), shown.inside ? "yes" : "no", record});
    }
  if (table.empty()) return {};
  return "<h3>Largest errors</h3>\n" + worst_table(all) +
         html_details(html_plural(all.size(), "run", "runs") + ", by class", table.text());
}

}  // namespace stepcast::validation
