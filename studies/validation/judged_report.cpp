#include "studies/validation/judged_report.h"

#include <fmt/format.h>

namespace stepcast::validation {
namespace {

const ErrorSummary& shown_errors(const JudgedRow& row) { return row.held_out.n > 0 ? row.held_out : row.fitted; }

std::string left_out(const JudgedRow& row) { return row.held_out.n > 0 ? row.left_out : "nothing"; }

std::string judged_line(const JudgedRow& row) {
  const ErrorSummary& error = shown_errors(row);
  if (error.n == 0) return {};
  std::string line = fmt::format(
      "{:<44.44} {:<14} {:>4} {:>6.1f} {:>6.1f} {:>7.1f} {:>6.1f} {:>7.1f} {:>6.1f} {:>6.1f} {:>6.0f} {:>6.2f}",
      row.judged->name, left_out(row), error.n, 100 * error.mape, 100 * row.judged->goal, 100 * error.bias,
      100 * error.p90, 100 * error.worst, 100 * row.fitted.mape, 100 * row.baseline_mape, 100 * row.coverage,
      row.spearman);
  if (row.groups > 0) line += fmt::format(" {:>6.1f}", 100 * row.regret);
  return line + '\n';
}

}  // namespace

std::string judged_text(const std::vector<JudgedRow>& rows) {
  std::string text = fmt::format("{:<44} {:<14} {:>4} {:>6} {:>6} {:>7} {:>6} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
      "Class", "left out", "n", "MAPE", "goal", "bias", "p90", "worst", "fitted", "const", "in 80%", "rank", "regret");
  for (const JudgedRow& row : rows) text += judged_line(row);
  return text + '\n';
}

void write_judged(JsonWriter& json, const std::vector<JudgedRow>& rows) {
  json.open_list("judged");
  for (const JudgedRow& row : rows) {
    const ErrorSummary& error = shown_errors(row);
    json.open();
    json.fields("class", row.judged->name, "left_out", left_out(row), "n", error.n, "mape", error.mape, "goal",
        row.judged->goal, "bias", error.bias, "p90", error.p90, "worst", error.worst, "fitted_mape", row.fitted.mape,
        "mape_with_doubtful", row.with_doubts.mape, "doubtful", row.doubtful, "baseline_mape", row.baseline_mape,
        "interval_coverage", row.coverage, "rank_correlation", row.spearman, "groups", row.groups);
    if (row.groups > 0) json.field("regret", row.regret);
    json.close();
  }
  json.close();
}

}  // namespace stepcast::validation
