#include "studies/gate/report.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::gate {
namespace {

/// A log shift as "+5.1 %".
std::string signed_percent(double shift) { return fmt::format("{:+.1f} %", 100 * std::expm1(shift)); }

std::string bounds_words(const ShiftBounds& bounds) {
  const bool low = std::isfinite(bounds.lower), high = std::isfinite(bounds.upper);
  if (low && high) return fmt::format("{} to {}", signed_percent(bounds.lower), signed_percent(bounds.upper));
  if (low) return fmt::format("above {}", signed_percent(bounds.lower));
  return high ? fmt::format("below {}", signed_percent(bounds.upper)) : "too few runs for bounds";
}

std::string painted(Finding finding, const print::Paint& paint) {
  const std::string word(to_text(finding));
  switch (finding) {
    case Finding::slower: return paint.bad(word);
    case Finding::equal: return paint.good(word);
    case Finding::faster: return paint.cool(word);
    case Finding::undecided: return paint.warm(word);
  }
  return word;
}

/// MFU and its kin.
std::string figure_words(const JudgedMust& must) {
  if (!must.figure) return {};
  if (must.kind == MustKind::speedup) return fmt::format("{:.2f} times", *must.figure);
  return format_percent(*must.figure);
}

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string rates_line(const GateRates& rates) {
  return fmt::format("At most {:.3g} % of what is no slower than allowed is called slower, at most {:.3g} % of what is "
                     "{:.3g} % slower than allowed equal{}.",
      100 * rates.alarm(), 100 * rates.miss(), 100 * rates.find,
      rates.looks > 1 ? fmt::format(", at each of {} looks", rates.looks) : "");
}

std::string case_text(const JudgedCase& one, const print::Paint& paint) {
  std::string head = fmt::format("{}  {}", paint.bold(one.name), painted(one.finding, paint));
  if (one.seconds.empty()) head += fmt::format("  no run of {}", one.wanted);
  else
    head += fmt::format("  {} by {}, noise {}", shown_result(one.median, one.unit), plural(one.seconds.size(), "run"),
        one.seconds.size() > 1 ? fmt::format("{:.2g} %", 100 * one.noise) : "not known");
  std::string text = head + "\n";
  if (one.seconds.empty()) {
    print::Table table({{""}, {""}, {""}});
    for (const JudgedMust& must : one.musts)
      table.add({painted(must.judgement.finding, paint), must.name, must_words(must, one)});
    return text + table.text("  ");
  }
  print::Table table({{""}, {""}, {"", print::Align::right}, {""}, {""}});
  for (const JudgedMust& must : one.musts) {
    const bool held = must.expected_seconds > 0;
    table.add(
        {painted(must.judgement.finding, paint), must.name, held ? signed_percent(must.judgement.bounds.shift) : "",
            held ? bounds_words(must.judgement.bounds) : "", must_words(must, one)});
  }
  text += table.text("  ");
  for (const JudgedChange& change : one.changes) text += fmt::format("  level: {}\n", change_words(change));
  return text;
}

}  // namespace

std::string shift_words(const JudgedMust& must) {
  if (!(must.expected_seconds > 0)) return {};
  const ShiftBounds& bounds = must.judgement.bounds;
  return fmt::format("{} ({})", signed_percent(bounds.shift), bounds_words(bounds));
}

std::string must_words(const JudgedMust& must, const JudgedCase& of) {
  std::vector<std::string> words;
  if (const std::string figure = figure_words(must); !figure.empty()) words.push_back(figure);
  if (!must.note.empty()) words.push_back(must.note);
  if (must.judgement.finding != Finding::undecided) return fmt::format("{}", fmt::join(words, "; "));
  const std::size_t there = of.seconds.size(), needed = must.judgement.needed.now;
  if (needed > there)
    words.push_back(
        fmt::format("needs {} more run{}, {} in all", needed - there, needed - there == 1 ? "" : "s", needed));
  const std::size_t before = must.judgement.needed.before;
  if (before > must.runs_before && must.note.empty())
    words.push_back(fmt::format("and {} on the other side, which has {}", plural(before, "run"), must.runs_before));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string change_words(const JudgedChange& change) {
  const std::string where =
      change.checks_ago == 0 ? "since this check" : fmt::format("since {} ago", plural(change.checks_ago, "check"));
  std::string words =
      fmt::format("{:.1f} % {} {}", 100 * std::abs(change.change), change.change > 0 ? "slower" : "faster", where);
  if (change.checks_ago > 0) words += ", " + change.at;
  if (!change.commit.empty()) words += ", commit " + change.commit.substr(0, 12);
  return words;
}

std::string gate_text(const GateReport& report, const Console& console) {
  const print::Paint paint(console);
  std::string text = fmt::format("{}: {}, {} slower, {} faster, {} equal, {} undecided\n\n", report.file,
      plural(report.cases.size(), "case"), report.count(Finding::slower), report.count(Finding::faster),
      report.count(Finding::equal), report.count(Finding::undecided));
  for (const JudgedCase& one : report.cases) text += case_text(one, paint) + "\n";
  text += rates_line(report.cases.front().rates) + "\n";
  text +=
      fmt::format("At least one false alarm in all that was judged: at most {:.3g} %.\n", 100 * report.false_alarms());
  if (report.recorded > 0) text += fmt::format("{} recorded.\n", plural(report.recorded, "check"));
  return text;
}

}  // namespace stepcast::gate
