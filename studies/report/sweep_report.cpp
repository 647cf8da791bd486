#include "studies/report/sweep_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/quantity_text.h"
#include "studies/report/paint.h"
#include "studies/report/table.h"
#include "studies/report/text.h"

namespace stepcast {
namespace {

constexpr std::size_t most_reasons = 6, most_shown = 50;
constexpr double least_phase_share = 1e-4;   // of the step; shorter phases are in --json

std::string whole_number(std::uint64_t n) { return grouped_digits(static_cast<double>(n)); }

std::string count_of(std::uint64_t n) { return fmt::format("{} configuration{}", whole_number(n), n == 1 ? "" : "s"); }

double figure_in(const SweepRow& row, Figure figure) { return row.figures[static_cast<std::size_t>(figure)]; }
std::string figure_cell(const SweepRow& row, Figure figure) { return figure_text(figure, figure_in(row, figure)); }
std::string whole_figure(const SweepRow& row, Figure figure) { return fmt::format("{:.0f}", figure_in(row, figure)); }

/// "micro-batch" for micro_batch: the flag's word.
std::string axis_word(const AxisRow& axis) {
  std::string word(axis.key);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

bool is_choice(const Space& space, const AxisRow& axis) { return space.values[static_cast<std::size_t>(axis.id)].size() > 1; }

bool differ_in(const std::vector<const SweepRow*>& rows, std::size_t axis) {
  return std::any_of(rows.begin(), rows.end(), [&](const SweepRow* row) { return row->choices[axis] != rows.front()->choices[axis]; });
}

/// "tp 8, pp 4, dp 2, micro-batch 1": axes with a choice, and the dp that follows; "on" and "off" stand behind their name.
std::string choice_words(const Space& space, const std::vector<std::string>& choices, double dp, const std::function<bool(const AxisRow&)>& wanted) {
  std::vector<std::string> words;
  for (const AxisRow& axis : axis_rows()) {
    if (wanted(axis)) words.push_back(fmt::format("{} {}", axis_word(axis), choices[static_cast<std::size_t>(axis.id)]));
    if (axis.id == AxisId::pp && is_choice(space, axis) && dp > 0) words.push_back(fmt::format("dp {:.0f}", dp));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string row_words(const Space& space, const SweepRow& row) {
  return choice_words(space, row.choices, figure_in(row, Figure::dp), [&](const AxisRow& axis) { return is_choice(space, axis); });
}

std::string words_at(const Space& space, std::uint64_t index) {
  const Digits digits = space.digits(index);
  std::vector<std::string> choices;
  for (const AxisRow& axis : axis_rows()) choices.push_back(space.value(digits, axis.id));
  return choice_words(space, choices, 0, [&](const AxisRow& axis) { return is_choice(space, axis); });
}

std::string batch_text(const Space& space) {
  return fmt::format("global batch {}, sequences of {}", whole_number(static_cast<std::uint64_t>(space.global_batch)),
                     whole_number(static_cast<std::uint64_t>(space.sequence)));
}

std::string sweep_title(const Space& space, const std::string& network, const std::string& gpu, const std::string& machine, const Paint& paint) {
  std::vector<std::string> counts;
  for (const std::int64_t gpus : space.numbers[static_cast<std::size_t>(AxisId::gpus)]) counts.push_back(whole_number(static_cast<std::uint64_t>(gpus)));
  return paint.bold(fmt::format("{} on {} x {} ({})", network, fmt::join(counts, ", "), gpu, machine)) + "\n" + batch_text(space) + "\n";
}

// --- what was looked at ---

std::string reasons_text(const SweepTally& tally) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons(tally.illegal.begin(), tally.illegal.end());
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{"", Align::right}, {""}});
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i < most_reasons) table.add({whole_number(reasons[i].second), reasons[i].first});
    else rest += reasons[i].second;
  }
  if (rest > 0) table.add({whole_number(rest), fmt::format("for {} other reasons", reasons.size() - most_reasons)});
  return table.empty() ? "" : table.text("      ");
}

std::string fits_line(const SweepAnswer& answer) {
  const SweepTally& tally = answer.swept.result.tally;
  if (tally.does_not_fit == 0) return "";
  return fmt::format("{} {} not fit: smallest overflow {} at {}", whole_number(tally.does_not_fit), tally.does_not_fit == 1 ? "does" : "do",
                     format_bytes(Bytes(tally.smallest_overflow_bytes)), words_at(*answer.space, tally.smallest_overflow_index));
}

std::string priced_line(const SweepAnswer& answer) {
  const SweepWork& work = answer.swept.work;
  std::string text = fmt::format("{} priced", whole_number(priced_in_all(answer.swept.result)));
  if (answer.before > 0) text += "; in this run";
  text += fmt::format("{} {} dismissed by their bound, {} forecast by the event engine", answer.before > 0 ? "" : ":", whole_number(work.pruned),
                      whole_number(work.refined));
  if (work.refined > 0) text += fmt::format("; largest gap between fast and exact {}", format_percent(work.largest_gap));
  return text;
}

std::string counts_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepTally& tally = answer.swept.result.tally;
  const SweepWork& work = answer.swept.work;
  const double run_here = static_cast<double>(tally.enumerated - answer.before);
  std::string text = fmt::format("\n{}  {}\n", paint.bold(count_of(tally.enumerated)),
                                 paint.dim(fmt::format("{}, {} configurations/s, {} {}", duration_text(work.seconds),
                                                       short_count(work.seconds > 0 ? run_here / work.seconds : 0), answer.threads,
                                                       answer.threads == 1 ? "thread" : "threads")));
  if (answer.before > 0) text += fmt::format("  {} of them were done before\n", whole_number(answer.before));
  const auto line = [&](const std::string& one) { return one.empty() ? "" : paragraph(one, "  ", "    ", page_columns); };
  if (!tally.illegal.empty()) text += fmt::format("  {} cannot run, or repeat another\n", whole_number(tally.illegal_sum())) + reasons_text(tally);
  text += line(fits_line(answer));
  if (const std::uint64_t excluded = tally.excluded + work.excluded_late; excluded > 0)
    text += line(fmt::format("{} excluded by '{}'{}", whole_number(excluded), answer.space->where,
                             work.excluded_late > 0 ? fmt::format(", {} of them after their forecast", whole_number(work.excluded_late)) : ""));
  if (priced_in_all(answer.swept.result) > 0) text += line(priced_line(answer));
  if (work.above > 0)
    text += paint.bad(fmt::format("  WARNING: the bounds of {} did not hold against the forecast: a better one may be missing; --exhaustive is sure\n",
                                  count_of(work.above)));
  return text;
}

// --- the list ---

/// The axes that differ among rows; what they have in common stands in a line below.
std::string rows_table(const SweepAnswer& answer, const std::vector<const SweepRow*>& rows, const std::function<std::string(std::size_t)>& mark) {
  const Space& space = *answer.space;
  const Figure objective = *find_figure(space.objective, "");
  const bool own = objective != Figure::step_time && objective != Figure::tokens_per_s_per_gpu && objective != Figure::mfu && objective != Figure::memory_peak;
  std::vector<const AxisRow*> shown;
  std::vector<std::string> common;
  for (const AxisRow& axis : axis_rows()) {
    const auto at = static_cast<std::size_t>(axis.id);
    if (differ_in(rows, at)) shown.push_back(&axis);
    else if (is_choice(space, axis)) common.push_back(fmt::format("{} {}", axis_word(axis), rows.front()->choices[at]));
  }
  std::vector<Table::Column> columns = {{"", Align::right}, {"step", Align::right}, {"interval", Align::right}, {"tokens/s/GPU", Align::right},
                                        {"MFU", Align::right}, {"memory", Align::right}};
  if (own) columns.insert(columns.begin() + 1, {std::string(row_of(objective).name), Align::right});
  for (const AxisRow* axis : shown) columns.push_back({axis_word(*axis), Align::right});
  columns.push_back({"dp", Align::right});
  Table table(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = *rows[i];
    std::vector<std::string> cells = {mark(i), figure_cell(row, Figure::step_time),
                                      fmt::format("{} to {}", figure_cell(row, Figure::p10), figure_cell(row, Figure::p90)),
                                      figure_cell(row, Figure::tokens_per_s_per_gpu), figure_cell(row, Figure::mfu), figure_cell(row, Figure::memory_peak)};
    if (own) cells.insert(cells.begin() + 1, figure_cell(row, objective));
    for (const AxisRow* axis : shown) cells.push_back(row.choices[static_cast<std::size_t>(axis->id)]);
    cells.push_back(whole_figure(row, Figure::dp));
    table.add(cells);
  }
  std::string text = table.text("  ");
  if (!common.empty()) text += paragraph((rows.size() > 1 ? "all: " : "") + fmt::format("{}", fmt::join(common, ", ")), "  ", "       ", page_columns);
  return text;
}

std::vector<const SweepRow*> pointers(const std::vector<SweepRow>& rows, std::size_t most) {
  std::vector<const SweepRow*> all;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) all.push_back(&rows[i]);
  return all;
}

std::string best_text(const SweepAnswer& answer, const Paint& paint) {
  const auto& top = answer.swept.result.top;
  const auto& tied = answer.verdict.tied;
  std::vector<std::string> marks;
  for (std::size_t i = 0; i < top.size(); ++i) marks.push_back(fmt::format("{} ", i + 1));
  if (tied && tied->ties.count > 1)
    for (std::size_t i = 0; i < tied->ties.count; ++i) marks[tied->rows[i]].back() = '=';
  std::string text = fmt::format("\n{}  {}\n", paint.bold("Best by " + answer.space->objective),
                                 paint.dim(tied && tied->ties.count > 1 ? "= tied with the first" : ""));
  text += rows_table(answer, pointers(top, most_shown), [&](std::size_t i) { return marks[i]; });
  if (top.size() > most_shown) text += fmt::format("  and {} more, in --json and -o\n", whole_number(top.size() - most_shown));
  if (!tied) return text;
  std::vector<double> steps;
  for (const std::size_t i : tied->rows) steps.push_back(figure_in(top[i], Figure::step_time));
  return text + "\n" + paragraph(ties_text(tied->ties, tied_names(answer), steps), "  ", "    ", page_columns);
}

std::string other_lists(const SweepAnswer& answer, const Paint& paint) {
  const SweepResult& result = answer.swept.result;
  std::string text;
  if (answer.best_by_gpus.size() > 1)
    text += fmt::format("\n{}\n", paint.bold("Best of each GPU count")) +
            rows_table(answer, pointers(answer.best_by_gpus, most_shown), [](std::size_t) { return ""; });
  if (result.pareto.empty()) return text;
  text += fmt::format("\n{}  {}\n", paint.bold(fmt::format("Pareto front of {}", fmt::join(result.question.pareto, ", "))),
                      paint.dim(count_of(result.pareto.size())));
  text += rows_table(answer, pointers(result.pareto, most_shown), [](std::size_t i) { return fmt::format("{}", i + 1); });
  if (result.pareto.size() > most_shown) text += fmt::format("  and {} more, in --json and -o\n", whole_number(result.pareto.size() - most_shown));
  return text;
}

// --- why ---

std::string signed_gap(double seconds) {
  if (std::abs(seconds) < 5e-7) return "0";
  return (seconds < 0 ? "-" : "+") + format_seconds(Seconds(std::abs(seconds)));
}

std::string rival_name(const Rival& rival) { return rival.rank == 0 ? "rule of thumb" : fmt::format("number {}", rival.rank); }

std::string why_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepVerdict& verdict = answer.verdict;
  const SweepRow& winner = answer.swept.result.top.front();
  std::vector<const Rival*> rivals;
  for (const auto* rival : {&verdict.runner_up, &verdict.naive})
    if (*rival) rivals.push_back(&**rival);
  std::string text;
  if (!rivals.empty()) {
    text += fmt::format("\n{}\n", paint.bold("Why the first one wins"));
    for (const Rival* rival : rivals) text += paragraph(why_sentence(answer, *rival), "  ", "    ", page_columns);
    std::vector<Table::Column> columns = {{""}, {"first", Align::right}};
    for (const Rival* rival : rivals) columns.push_back({rival_name(*rival), Align::right}), columns.push_back({"difference", Align::right});
    Table table(columns);
    const auto add = [&](Figure figure) {
      std::vector<std::string> cells = {std::string(row_of(figure).name), figure_cell(winner, figure)};
      std::replace(cells[0].begin(), cells[0].end(), '_', ' ');
      for (const Rival* rival : rivals) {
        cells.push_back(figure_cell(rival->row, figure));
        cells.push_back(signed_gap(figure_in(winner, figure) - figure_in(rival->row, figure)));
      }
      table.add(cells);
    };
    add(Figure::step_time);
    const double least = least_phase_share * figure_in(winner, Figure::step_time);
    for (const Figure figure : phase_figures())
      if (figure_in(winner, figure) > least || std::any_of(rivals.begin(), rivals.end(), [&](const Rival* r) { return figure_in(r->row, figure) > least; }))
        add(figure);
    text += table.text("  ");
  }
  if (verdict.naive_wins) text += "  The usual rule of thumb leads to the first one as well.\n";
  if (verdict.naive_in_vain) text += "  The usual rule of thumb finds nothing in this space that fits.\n";
  return text;
}

std::string command_text(const SweepAnswer& answer, const Paint& paint) {
  return fmt::format("\n{}\n  {}\n", paint.bold("To forecast the first one again"), answer.command(answer.swept.result.top.front().index));
}

std::string nothing_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepTally& tally = answer.swept.result.tally;
  const auto headed = [&](const char* heading, const std::string& text) {
    return fmt::format("\n{}\n", paint.bold(heading)) + (text.empty() ? "" : paragraph(text, "  ", "    ", page_columns));
  };
  if (!answer.swept.result.complete()) return headed("Nothing was found yet.", "");
  if (tally.fitting() == 0 && tally.does_not_fit == 0) return headed("No configuration of this space can run.", answer.broken_rule);
  if (tally.fitting() == 0) {
    std::string text;
    if (answer.overflow) text = fmt::format("The nearest miss holds {}. What makes that smaller: {}.", answer.overflow->largest, answer.overflow->advice);
    return headed("No configuration fits in memory.", text) + (answer.overflow ? "  " + answer.command(answer.overflow->index) + "\n" : "");
  }
  std::string text;
  if (answer.without_where) {
    const SweepRow& best = answer.without_where->best;
    std::vector<std::string> figures;
    for (const Figure figure : answer.without_where->figures)
      if (figure != Figure::step_time) figures.push_back(fmt::format("{} {}", row_of(figure).name, figure_cell(best, figure)));
    text = fmt::format("Without it the best is {}: {}{}{}", row_words(*answer.space, best), figure_cell(best, Figure::step_time),
                       figures.empty() ? "" : ", with ", fmt::format("{}", fmt::join(figures, ", ")));
  }
  return headed("No configuration meets the constraint.", text);
}

}  // namespace

std::uint64_t priced_in_all(const SweepResult& result) { return result.tally.fitting() - result.tally.excluded; }

std::vector<std::string> tied_names(const SweepAnswer& answer) {
  const auto& top = answer.swept.result.top;
  const TiedRows& tied = *answer.verdict.tied;
  std::vector<const SweepRow*> rows;
  for (std::size_t i = 0; i < std::max<std::size_t>(2, tied.ties.count) && i < tied.rows.size(); ++i) rows.push_back(&top[tied.rows[i]]);
  std::vector<std::string> names;
  for (const std::size_t i : tied.rows) {
    const std::string words = choice_words(*answer.space, top[i].choices, 0, [&](const AxisRow& axis) { return differ_in(rows, static_cast<std::size_t>(axis.id)); });
    names.push_back(words.empty() ? fmt::format("number {}", i + 1) : fmt::format("number {} ({})", i + 1, words));
  }
  return names;
}

std::string why_sentence(const SweepAnswer& answer, const Rival& rival) {
  const SweepRow& winner = answer.swept.result.top.front();
  const double saved = figure_in(rival.row, Figure::step_time) - figure_in(winner, Figure::step_time);
  const auto gaps = phase_gaps(winner.figures, rival.row.figures);
  const PhaseGap& main = saved >= 0 ? gaps.front() : gaps.back();
  std::string phase(row_of(main.figure).name);
  std::replace(phase.begin(), phase.end(), '_', ' ');
  std::string who = rival.rank == 0 ? "the usual rule of thumb" : fmt::format("number {}{}", rival.rank, rival.other_split ? ", the best with another split" : "");
  who += fmt::format(" ({})", row_words(*answer.space, rival.row));
  if (std::abs(saved) < 5e-7) return fmt::format("Against {}: as fast.", who);
  std::string text = fmt::format("Against {}: {} by {} ({}), most of it {} of {}", who, saved > 0 ? "wins" : "slower",
                                 format_seconds(Seconds(std::abs(saved))), format_percent(std::abs(saved) / figure_in(rival.row, Figure::step_time)),
                                 format_seconds(Seconds(std::abs(main.seconds))), phase);
  const PhaseGap& against = saved >= 0 ? gaps.back() : gaps.front();
  if (std::abs(against.seconds) < 0.1 * std::abs(main.seconds)) return text + ".";
  std::string other(row_of(against.figure).name);
  std::replace(other.begin(), other.end(), '_', ' ');
  return text + fmt::format("; {} {} of {}.", saved >= 0 ? "it loses" : "it gains", format_seconds(Seconds(std::abs(against.seconds))), other);
}

std::string sweep_text(const SweepAnswer& answer, const Console& console) {
  const Paint paint(console);
  std::string text = sweep_title(*answer.space, answer.network_name, answer.gpu_name, answer.machine_name, paint);
  if (!answer.shard_source.empty()) text += answer.shard_source + "\n";
  text += counts_text(answer, paint);
  if (answer.swept.result.top.empty()) text += nothing_text(answer, paint);
  else text += best_text(answer, paint) + other_lists(answer, paint) + why_text(answer, paint) + command_text(answer, paint);
  if (!answer.written.empty()) text += fmt::format("\nWritten: {}\n", fmt::join(answer.written, ", "));
  return text;
}

std::string sweep_plan_text(const SweepPlan& plan, const Console& console) {
  const Paint paint(console);
  std::string text = sweep_title(*plan.space, plan.network_name, plan.gpu_name, plan.machine_name, paint);
  if (!plan.shard_source.empty()) text += plan.shard_source + "\n";
  text += fmt::format("\n{}  {}\n", paint.bold(count_of(plan.configurations)),
                      paint.dim(fmt::format("about {} of them can run; roughly {} on {} {}", format_percent(plan.estimate.runnable_share),
                                            duration_text(plan.estimate.seconds), plan.threads, plan.threads == 1 ? "thread" : "threads")));
  for (const AxisRow& axis : axis_rows())
    text += paragraph(fmt::format("{}", fmt::join(plan.space->values[static_cast<std::size_t>(axis.id)], ", ")), fmt::format("  {:<18}", axis_word(axis)),
                      std::string(20, ' '), page_columns);
  return text;
}

}  // namespace stepcast
