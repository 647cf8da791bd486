// The page's words: conventions, and what of the records was doubted, skipped or assumed.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "studies/validation/html_page.h"
#include "studies/print/page/html_text.h"

namespace stepcast::validation {
namespace {

using Tally = std::map<std::string, std::vector<std::string>>;

/// Reasons by how many runs they concern, most first.
std::vector<std::pair<std::string, std::vector<std::string>>> by_size(const Tally& tally) {
  std::vector<std::pair<std::string, std::vector<std::string>>> rows(tally.begin(), tally.end());
  std::stable_sort(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return rows;
}

std::string id_list(const std::vector<std::string>& ids) {
  constexpr std::size_t listed = 3;
  std::vector<std::string> safe;
  std::string all;
  for (const std::string& id : ids) safe.push_back(html_escaped(id)), all += (all.empty() ? "" : ", ") + safe.back();
  return ids.size() <= listed ? all : html_details(html_plural(ids.size(), "run", "runs"), html_list(safe));
}

std::string reason_table(const char* label, const char* heading, const Tally& tally) {
  HtmlTable table(label, {{heading, CellKind::text}, {"runs"}, {"which", CellKind::text}});
  for (const auto& [reason, ids] : by_size(tally))
    table.row({html_escaped(reason), html_count(static_cast<double>(ids.size())), id_list(ids)});
  return table.empty() ? "" : table.text();
}

/// A link only for what is certainly an address of the web.
std::string source_cell(const std::string& source) {
  const std::string safe = html_escaped(source);
  const bool address = source.starts_with("https://") && source.find(' ') == std::string::npos;
  return address ? fmt::format("<a href=\"{0}\" rel=\"noreferrer\">{0}</a>", safe) : safe;
}

}  // namespace

std::string html_conventions(const Validation& validation) {
  const auto derived = static_cast<std::size_t>(std::count_if(
      validation.cases.begin(), validation.cases.end(), [](const ValidatedCase& row) { return !row.time_reported; }));
  return html_list({"<b>Step time</b>: one optimizer step of the whole job: all micro-batches forward and backward, "
                    "the exchange of "
                    "gradients and parameters, the optimizer. Measured is what the source calls so: "
                    "one step, a median or mean over those that it picked, or tokens per second turned into a time. " +
                        html_plural(derived, "time was", "times were") +
                        " derived from TFLOP/s or MFU; they are marked, and are no witnesses for a FLOP count.",
      "<b>Error</b>: forecast over measured - 1; negative means that the forecast is too fast. <b>MAPE</b> is the "
      "mean of its size, every run counting once; <b>p90</b> the 90th percentile of its size.",
      "<b>Held out</b>: each run is forecast by parameters that were fitted without all runs of its own group, which "
      "the column &#8220;left out at once&#8221; names. <b>Fitted</b>: parameters fitted on all runs of "
      "the class, this one among them. Only held-out figures tell what to expect of a run that nobody has measured.",
      "<b>No constant per run</b>: parameters belong to a training stack, a GPU and a precision; nothing is fitted or "
      "set for a single run, and its name decides about nothing but whether the record is doubtful.",
      "<b>80 % interval</b>: from the 10th to the 90th percentile that a forecast gives for its own step time. A good "
      "one holds four of five measurements; the percentage in the tables is that share.",
      "<b>FLOPs</b>: two per multiply and add, attention counted causally, which is half of the full square; "
      "recomputation is not counted. Rates per GPU are these FLOPs over the measured time.",
      "<b>Median rate</b>: the least that a forecast must beat: every run of a class at the median of its measured "
      "FLOP/s per GPU. <b>Closed form</b>: a formula per layer and stage with as many fitted parameters.",
      "<b>Rank</b>: Spearman's correlation, equal values sharing their mean rank. <b>Regret</b>: measured time of the "
      "split that the forecast puts first over that of the best one, minus 1.",
      "<b>Peak memory</b>: as PyTorch's allocator counts it; GB is 1e9 bytes.",
      "<b>Doubtful records</b>: the rules below; such runs are forecast and shown, but fit nothing and are left out "
      "of class figures unless a column says otherwise."});
}

std::string html_doubts(const Validation& validation) {
  Tally reasons;
  for (const ValidatedCase& row : validation.cases)
    if (!row.doubt.empty()) reasons[row.doubt].push_back(row.id);
  if (reasons.empty()) return validation.cases.empty() ? "" : "<p>None of these records is doubtful.</p>\n";
  return "<p>What speaks against the record itself, not against a forecast of ours.</p>\n" +
         reason_table("Doubtful records", "Reason", reasons);
}

std::string html_skipped(const Validation& validation) {
  Tally reasons;
  for (const SkippedRun& run : validation.skipped) reasons[run.reason].push_back(run.id);
  return reason_table("Runs without a forecast", "Reason", reasons);
}

std::string html_assumptions(const Validation& validation) {
  constexpr std::size_t shown = 25;
  Tally assumptions;
  for (const ValidatedCase& row : validation.cases)
    for (const std::string& text : row.assumptions) assumptions[text].push_back(row.id);
  HtmlTable table("What was assumed", {{"Assumption", CellKind::text}, {"runs"}});
  const auto rows = by_size(assumptions);
  for (std::size_t i = 0; i < std::min(shown, rows.size()); ++i)
    table.row({html_escaped(rows[i].first), html_count(static_cast<double>(rows[i].second.size()))});
  if (table.empty()) return {};
  const std::string rest = rows.size() > shown ? fmt::format(" The {} most frequent of {}.", shown, rows.size()) : "";
  return "<p>Where a record is silent, the forecast assumes what is usual with its software and says so for each run." +
         rest + "</p>\n" + table.text();
}

std::string html_sources(const Validation& validation) {
  HtmlTable table("Sources", {{"Source", CellKind::word}, {"runs"}, {"fitted MAPE"}, {"bias"}, {"worst"}});
  for (const ValidatedClass& row : validation.classes)
    if (row.by_source)
      table.row({source_cell(row.name), html_count(static_cast<double>(row.error.n)), html_percent(row.error.mape),
          html_signed_percent(row.error.bias), html_signed_percent(row.error.worst)});
  return table.empty() ? "" : "<p>Repositories, papers and pages that published the measurements.</p>\n" + table.text();
}

}  // namespace stepcast::validation
