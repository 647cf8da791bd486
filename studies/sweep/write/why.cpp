// Why the first configuration of a sweep wins: phase by phase against another split and against the usual rule of
// thumb.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/sweep/write/report.h"
#include "studies/sweep/write/words.h"
#include "studies/print/table.h"

namespace stepcast::sweep {
namespace {

constexpr double least_phase_share = 1e-4;  // of the step; shorter phases are in --json
constexpr double least_seen_gap_s = 5e-7, telling_share = 0.1;

constexpr const char* rule_words =
    "tp up to a node, then the smallest pp that fits, micro-batch 1, no recompute if that fits";

using Rivals = std::vector<const Rival*>;

std::string signed_gap(double seconds) {
  if (std::abs(seconds) < least_seen_gap_s) return "0";
  return (seconds < 0 ? "-" : "+") + format_seconds(Seconds(std::abs(seconds)));
}

std::string gap_words(const PhaseGap& gap) {
  return fmt::format("{} of {}", format_seconds(Seconds(std::abs(gap.seconds))), figure_words(gap.figure));
}

std::string rival_words(const SweepAnswer& answer, const Rival& rival) {
  const std::string row = row_words(answer.swept.result.question, rival.row);
  if (rival.rank == 0) return fmt::format("the usual rule of thumb ({}; here {})", rule_words, row);
  return fmt::format("number {}{} ({})", rival.rank, rival.other_split ? ", the best with another split" : "", row);
}

bool is_long_enough(Figure phase, const SweepRow& winner, const Rivals& rivals) {
  const double least = least_phase_share * figure_in(winner, Figure::step_time);
  const auto shows = [&](const SweepRow& row) { return figure_in(row, phase) > least; };
  return shows(winner) || std::ranges::any_of(rivals, [&](const Rival* rival) { return shows(rival->row); });
}

std::string phases_table(const SweepRow& winner, const Rivals& rivals) {
  std::vector<Table::Column> columns = {{""}, {"first", Align::right}};
  for (const Rival* rival : rivals) {
    columns.push_back({rival->rank == 0 ? "rule of thumb" : fmt::format("number {}", rival->rank), Align::right});
    columns.push_back({"difference", Align::right});
  }
  Table table(columns);
  const auto add = [&](Figure figure) {
    std::vector<std::string> cells = {figure_words(figure), figure_cell(winner, figure)};
    for (const Rival* rival : rivals) {
      cells.push_back(figure_cell(rival->row, figure));
      cells.push_back(signed_gap(figure_in(winner, figure) - figure_in(rival->row, figure)));
    }
    table.add(cells);
  };
  add(Figure::step_time);
  for (const Figure phase : phase_figures())
    if (is_long_enough(phase, winner, rivals)) add(phase);
  return table.text("  ");
}

}  // namespace

std::string why_sentence(const SweepAnswer& answer, const Rival& rival) {
  const SweepRow& winner = answer.swept.result.top.front();
  const double rival_s = figure_in(rival.row, Figure::step_time),
               saved = rival_s - figure_in(winner, Figure::step_time);
  const std::string against = "Against " + rival_words(answer, rival);
  if (std::abs(saved) < least_seen_gap_s) return against + ": as fast.";
  const auto gaps = phase_gaps(winner.figures, rival.row.figures);
  const bool wins = saved > 0;
  const PhaseGap &most = wins ? gaps.front() : gaps.back(), &other = wins ? gaps.back() : gaps.front();
  std::string text = fmt::format("{}: {} by {} ({}), most of it {}", against, wins ? "wins" : "slower",
      format_seconds(Seconds(std::abs(saved))), format_percent(std::abs(saved) / rival_s), gap_words(most));
  if (std::abs(other.seconds) >= telling_share * std::abs(most.seconds))
    text += fmt::format("; it {} {}", wins ? "loses" : "gains", gap_words(other));
  return text + ".";
}

std::string why_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepVerdict& verdict = answer.verdict;
  Rivals rivals;
  for (const auto* rival : {&verdict.runner_up, &verdict.naive})
    if (*rival) rivals.push_back(&**rival);
  std::string text;
  if (!rivals.empty()) {
    text += fmt::format("\n{}\n", paint.bold("Why the first one wins"));
    for (const Rival* rival : rivals) text += paragraph(why_sentence(answer, *rival), "  ", "    ", page_columns);
    text += phases_table(answer.swept.result.top.front(), rivals);
  }
  const auto rule_line = [](const char* end) {
    return paragraph(fmt::format("The usual rule of thumb ({}) {}", rule_words, end), "  ", "    ", page_columns);
  };
  if (verdict.naive_wins) text += rule_line("leads to the first one as well.");
  if (verdict.naive_in_vain) text += rule_line("finds nothing in this space that fits.");
  return text;
}

}  // namespace stepcast::sweep
