// The parts of the explorer that need no script: what was asked, what was dismissed and why.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/version.h"
#include "studies/run/forecast.h"
#include "studies/sweep/write/explorer_parts.h"
#include "studies/sweep/write/words.h"
#include "studies/print/page/html_text.h"

namespace stepcast::sweep {
namespace {

constexpr std::size_t most_shown_values = 40;  // of an axis; ranges may have thousands

std::string tally_count(std::uint64_t n) { return html_count(static_cast<double>(n)); }

std::string explorer_card(const std::string& value, const std::string& words) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, words);
}

std::string shown_values(const SweepAxis& axis) {
  const std::size_t shown = std::min(axis.values.size(), most_shown_values);
  std::string text =
      fmt::format("{}", fmt::join(axis.values.begin(), axis.values.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < axis.values.size()) text += fmt::format(" and {} more", axis.values.size() - shown);
  return html_escaped(text);
}

/// "tp 8, pp 4" of the axes that vary, for configurations that are no row.
std::string choices_at(const SweepQuestion& question, std::uint64_t index) {
  std::string text;
  for (auto axis = question.axes.rbegin(); axis != question.axes.rend(); ++axis) {
    if (axis->values.empty()) return "";
    const std::string& value = axis->values[index % axis->values.size()];
    index /= axis->values.size();
    if (axis->values.size() > 1) text = key_title(axis->key) + ' ' + value + (text.empty() ? "" : ", ") + text;
  }
  return text;
}

std::string unfinished_note(const SweepResult& result) {
  const IndexRange all = range_of(result.shard, result.question.size());
  std::string part;
  if (result.shard.count > 1)
    part = fmt::format("This is part {} of {}, counted from 0.", result.shard.index, result.shard.count);
  if (!result.complete())
    part += fmt::format("{}Unfinished: {} of {} configurations were looked at.", part.empty() ? "" : " ",
        tally_count(result.tally.enumerated), tally_count(all.end - all.begin));
  return part.empty() ? "" : "<p class=\"notice\"><b>" + part + "</b> Other configurations may be better.</p>\n";
}

std::string best_words(const SweepResult& result) {
  const auto objective = find_figure(result.question.objective, "objective");
  if (result.top.empty() || !objective) return "";
  const double value = result.top.front().figures[static_cast<std::size_t>(*objective)];
  return explorer_card(figure_text(*objective, value), "best: " + std::string(row_of(*objective).doc));
}

std::string figure_title(const std::string& name) {
  const auto figure = find_figure(name, "objective");
  return html_escaped(figure ? std::string(row_of(*figure).title) : name);
}

std::string front_titles(const SweepQuestion& question) {
  std::vector<std::string> titles;
  for (const std::string& name : question.pareto) titles.push_back(figure_title(name));
  return fmt::format("{}", fmt::join(titles, ", "));
}

/// "Llama 3 8B (llama3-8b)": the id is what the command line takes.
std::string titled(const std::string& title, const std::string& id) {
  return html_escaped(title == id ? id : fmt::format("{} ({})", title, id));
}

/// How many of those that can run stand on the page.
std::string listed_words(const SweepResult& result) {
  const std::size_t listed = result.top.size();
  if (listed == result.tally.fitting()) return ", all listed";
  return fmt::format(", the best {} listed", tally_count(listed));
}

std::string axes_table(const SweepQuestion& question) {
  HtmlTable table("Axes", {{"axis", CellKind::word}, {"values"}, {"which", CellKind::text}});
  std::vector<std::string> single;
  for (const SweepAxis& axis : question.axes) {
    if (axis.values.size() == 1) single.push_back(key_title(axis.key) + ' ' + axis.values.front());
    else table.row({html_escaped(key_title(axis.key)), tally_count(axis.values.size()), shown_values(axis)});
  }
  std::string text = table.empty() ? "" : table.text();
  if (single.empty()) return text;
  return text +
         fmt::format("<p class=\"soft\">One value: {}</p>\n", html_escaped(fmt::format("{}", fmt::join(single, ", "))));
}

/// "gpus" is an axis, and the first that a reader asks for.
std::string asked_gpus(const SweepQuestion& question) {
  for (const SweepAxis& axis : question.axes)
    if (axis.key == "gpus") return shown_values(axis);
  return "";
}

/// " (GPUs 64; global_batch 1024; sequence 8192)"
std::string asked_job(const SweepQuestion& question) {
  const std::string gpus = asked_gpus(question);
  std::string text = gpus.empty() ? "" : "GPUs " + gpus;
  for (const auto& [key, value] : question.fixed)
    if (key == "global_batch" || key == "sequence")
      text += (text.empty() ? "" : "; ") + html_escaped(key_title(key) + ' ' + value);
  return text.empty() ? "" : " (" + text + ")";
}

void add_illegal(HtmlTable& table, const SweepTally& tally) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons(tally.illegal.begin(), tally.illegal.end());
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  table.row({"illegal", tally_count(tally.illegal_sum()), ""});
  for (const auto& [reason, n] : reasons) table.row({"", tally_count(n), html_escaped(reason)});
}

std::string nearest_miss(const SweepResult& result) {
  const SweepTally& tally = result.tally;
  if (tally.does_not_fit == 0) return "";
  const std::string at = choices_at(result.question, tally.smallest_overflow_index);
  return html_escaped(fmt::format("smallest overflow {}{}",
      figure_text(Figure::memory_peak, tally.smallest_overflow_bytes), at.empty() ? "" : " at " + at));
}

}  // namespace

std::string explorer_head(const SweepResult& result) {
  const SweepQuestion& q = result.question;
  const SweepTally& tally = result.tally;
  return fmt::format(
             "<header>\n<h1>{} on {}</h1>\n<p>Configurations of a training step{}, forecast by stepcast {}.</p>\n",
             html_escaped(network_title(q)), html_escaped(machine_title(q)), asked_job(q), version()) +
         unfinished_note(result) + "<div class=\"figures\">\n" +
         explorer_card(tally_count(tally.enumerated), "configurations enumerated") +
         explorer_card(tally_count(tally.illegal_sum()), "of them illegal") +
         explorer_card(tally_count(tally.does_not_fit), "do not fit in memory") +
         explorer_card(tally_count(tally.fitting()), "can run" + listed_words(result)) + best_words(result) +
         "</div>\n<nav aria-label=\"Sections\">\n<a href=\"#explore\">Explore</a>\n<a href=\"#asked\">What was "
         "asked</a>\n"
         "<a href=\"#counted\">What was counted</a>\n</nav>\n</header>\n";
}

std::string explorer_asked(const SweepQuestion& q) {
  HtmlTable table("What was asked", {{"question", CellKind::word}, {"answer", CellKind::text}});
  const auto add = [&](const char* what, const std::string& answer) {
    if (!answer.empty()) table.row({what, answer});
  };
  add("network", titled(network_title(q), q.network));
  add("machine", titled(machine_title(q), q.machine));
  add("GPUs", asked_gpus(q));
  for (const auto& [key, value] : q.fixed) add(html_escaped(key_title(key)).c_str(), html_escaped(value));
  add("software", html_escaped(q.stack));
  add("rates", html_escaped(q.profile));
  add("objective", figure_title(q.objective));
  add("constraint", q.where.empty() ? "none" : html_escaped(q.where));
  add("Pareto front of", q.pareto.empty() ? "nothing" : front_titles(q));
  add("listed", "the best " + tally_count(q.top));
  add("search", q.exhaustive ? "every configuration that fits was forecast"
                             : "dismissed by bounds where it could not be among the best");
  if (q.price_per_gpu_hour > 0) add("price", fmt::format("$ {} per GPU and hour", q.price_per_gpu_hour));
  return html_section("asked", "What was asked", table.text() + axes_table(q));
}

std::string explorer_counted(const SweepResult& result) {
  const SweepTally& tally = result.tally;
  HtmlTable table("What was counted", {{"configurations", CellKind::word}, {"number"}, {"why", CellKind::text}});
  table.row({"enumerated", tally_count(tally.enumerated), ""});
  add_illegal(table, tally);
  table.row({"do not fit", tally_count(tally.does_not_fit), nearest_miss(result)});
  if (!result.question.where.empty())
    table.row({"excluded", tally_count(tally.excluded),
        "by what is known before a forecast: " + html_escaped(result.question.where)});
  table.row({"can run", tally_count(tally.fitting()), ""});
  table.row({"listed as best", tally_count(result.top.size()), ""});
  if (!result.question.pareto.empty()) table.row({"on the front", tally_count(result.pareto.size()), ""});
  return html_section("counted", "What was counted", table.text());
}

}  // namespace stepcast::sweep
