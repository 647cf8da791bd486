#include "studies/sweep/write/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/run/forecast.h"
#include "studies/sweep/write/words.h"
#include "studies/print/table.h"

namespace stepcast::sweep {
namespace {

constexpr std::size_t most_reasons = 6;

std::string page_line(const std::string& text) {
  return text.empty() ? "" : paragraph(text, "  ", "    ", page_columns);
}

std::string threads_text(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

std::string sweep_title(const Space& space, const SweepNames& names, const Paint& paint) {
  std::vector<std::string> counts;
  for (const std::int64_t gpus : space.numbers[static_cast<std::size_t>(AxisId::gpus)])
    counts.push_back(whole_number(static_cast<std::uint64_t>(gpus)));
  const std::string run =
      fmt::format("{} on {} x {} ({})", names.network, fmt::join(counts, ", "), names.gpu, names.machine);
  return paint.bold(run) +
         fmt::format("\nglobal batch {}, sequences of {}\n",
             whole_number(static_cast<std::uint64_t>(space.global_batch)),
             whole_number(static_cast<std::uint64_t>(space.sequence))) +
         (names.shard_source.empty() ? "" : names.shard_source + "\n");
}

// --- what was looked at ---

std::string reasons_text(const SweepTally& tally) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons(tally.illegal.begin(), tally.illegal.end());
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{"", Align::right}, {""}});
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i < most_reasons) table.add({whole_number(reasons[i].second), reasons[i].first});
    else rest += reasons[i].second;
  }
  if (rest > 0) table.add({whole_number(rest), fmt::format("for {} other reasons", reasons.size() - most_reasons)});
  return table.empty() ? "" : table.text("      ");
}

std::string fits_line(const SweepResult& result) {
  const SweepTally& tally = result.tally;
  if (tally.does_not_fit == 0) return "";
  return fmt::format("{} {} not fit: smallest overflow {} at {}", whole_number(tally.does_not_fit),
      tally.does_not_fit == 1 ? "does" : "do", format_bytes(Bytes(tally.smallest_overflow_bytes)),
      words_at(result.question, tally.smallest_overflow_index));
}

std::string excluded_line(const SweepResult& result, std::uint64_t late) {
  const std::uint64_t excluded = result.tally.excluded + late;
  if (excluded == 0) return "";
  const std::string after = late > 0 ? fmt::format(", {} of them after their forecast", whole_number(late)) : "";
  return fmt::format("{} excluded by '{}'{}", whole_number(excluded), result.question.where, after);
}

std::string priced_line(const SweepAnswer& answer) {
  const SweepWork& work = answer.swept.work;
  const std::uint64_t priced = priced_in_all(answer.swept.result);
  if (priced == 0) return "";
  std::string text =
      fmt::format("{} priced{} {} dismissed by their bound, {} forecast by the event engine", whole_number(priced),
          answer.before > 0 ? "; in this run" : ":", whole_number(work.pruned), whole_number(work.refined));
  if (work.refined > 0)
    text += fmt::format("; largest gap between fast and exact {}", format_percent(work.largest_gap));
  return text;
}

std::string pace_text(const SweepAnswer& answer) {
  const double here = static_cast<double>(answer.swept.result.tally.enumerated - answer.before),
               seconds = answer.swept.work.seconds;
  if (here == 0) return "nothing was left to do";
  return fmt::format("{}, {} configurations/s, {}", duration_text(seconds),
      short_count(seconds > 0 ? here / seconds : 0), threads_text(answer.threads));
}

std::string counts_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepTally& tally = answer.swept.result.tally;
  std::string text =
      fmt::format("\n{}  {}\n", paint.bold(count_of_configurations(tally.enumerated)), paint.dim(pace_text(answer)));
  if (answer.before > 0) text += fmt::format("  {} of them were done before\n", whole_number(answer.before));
  text += dismissed_text(answer.swept.result, answer.swept.work.excluded_late) + page_line(priced_line(answer));
  if (const std::uint64_t wrong = answer.swept.work.above; wrong > 0)
    text += paint.bad(page_line(
        fmt::format("WARNING: the bounds of {} did not hold against the forecast: a better one may be missing; "
                    "--exhaustive is sure",
            count_of_configurations(wrong))));
  return text;
}

// --- nothing ---

std::string nearest_miss_text(const SweepAnswer& answer) {
  if (!answer.overflow) return "";
  const Overflow& overflow = *answer.overflow;
  return page_line(fmt::format(
             "The nearest miss holds {}. What makes that smaller: {}.", overflow.largest, overflow.advice)) +
         "  " + answer.command(overflow.index) + "\n";
}

std::string without_where_text(const SweepAnswer& answer) {
  if (!answer.without_where) return "";
  const SweepRow& best = answer.without_where->best;
  const std::string words = row_words(answer.swept.result.question, best);
  std::string text = fmt::format("Without it the best is {}: {}", words, figure_cell(best, Figure::step_time));
  for (const Figure figure : answer.without_where->figures)
    if (figure != Figure::step_time) text += fmt::format(", {} {}", row_of(figure).name, figure_cell(best, figure));
  return page_line(text);
}

std::string nothing_text(const SweepAnswer& answer, const Paint& paint) {
  const SweepResult& result = answer.swept.result;
  const std::string heading = fmt::format("\n{}\n", paint.bold(nothing_words(result)));
  if (!result.complete()) return heading;
  if (result.tally.fitting() > 0) return heading + without_where_text(answer);
  return heading + (result.tally.does_not_fit > 0 ? nearest_miss_text(answer) : page_line(answer.broken_rule));
}

std::string found_text(const SweepAnswer& answer, const Paint& paint) {
  return best_rows_text(answer, paint) + by_gpus_text(answer, paint) + front_text(answer.swept.result, paint) +
         why_text(answer, paint) +
         fmt::format("\n{}\n  {}\n", paint.bold("To forecast the first one again"),
             answer.command(answer.swept.result.top.front().index));
}

}  // namespace

std::string dismissed_text(const SweepResult& result, std::uint64_t late) {
  std::string text;
  if (const std::uint64_t illegal = result.tally.illegal_sum(); illegal > 0)
    text = fmt::format("  {} cannot run, or {} another\n", whole_number(illegal), illegal == 1 ? "repeats" : "repeat") +
           reasons_text(result.tally);
  return text + page_line(fits_line(result)) + page_line(excluded_line(result, late));
}

std::string nothing_words(const SweepResult& result) {
  if (!result.complete()) return "Nothing was found yet.";
  if (result.tally.fitting() > 0) return "No configuration meets the constraint.";
  return result.tally.does_not_fit > 0 ? "No configuration fits in memory." : "No configuration of this space can run.";
}

std::uint64_t priced_in_all(const SweepResult& result) { return result.tally.fitting() - result.tally.excluded; }

std::string sweep_text(const SweepAnswer& answer, const Console& console) {
  const Paint paint(console);
  std::string text = sweep_title(*answer.space, answer.names, paint) + counts_text(answer, paint);
  text += answer.swept.result.top.empty() ? nothing_text(answer, paint) : found_text(answer, paint);
  return text + (answer.written.empty() ? "" : fmt::format("\nWritten: {}\n", fmt::join(answer.written, ", ")));
}

std::string sweep_plan_text(const SweepPlan& plan, const Console& console) {
  const Paint paint(console);
  const std::string least = duration_text(plan.estimate.seconds),
                    most = duration_text(std::max(plan.estimate.seconds, plan.estimate.most_seconds));
  const std::string cost =
      fmt::format("about {} of them can run; roughly {} on {}", format_percent(plan.estimate.runnable_share),
          least == most ? least : least + " to " + most, threads_text(plan.threads));
  std::string text = sweep_title(*plan.space, plan.names, paint);
  text += fmt::format("\n{}  {}\n", paint.bold(count_of_configurations(plan.configurations)), paint.dim(cost));
  for (const AxisRow& axis : axis_rows()) {
    const std::string values =
        fmt::format("{}", fmt::join(plan.space->values[static_cast<std::size_t>(axis.id)], ", "));
    text += paragraph(values, fmt::format("  {:<18}", axis_word(axis.key)), std::string(20, ' '), page_columns);
  }
  return text;
}

}  // namespace stepcast::sweep
