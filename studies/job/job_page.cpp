#include "studies/job/job_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/job/interval.h"
#include "studies/job/duration.h"
#include "studies/job/time_rows.h"
#include "studies/print/digits.h"
#include "studies/print/line_plot.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"
#include "studies/run/scenario.h"

namespace stepcast::job {
namespace {

using print::CellKind, print::html_escaped, print::HtmlTable, print::PlotDot, print::PlotSeries;

std::string figure(const std::string& value, const std::string& what) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", html_escaped(value), html_escaped(what));
}

std::string figures(const JobForecast& job) {
  const sim::LifeTimes& life = job.expected;
  const auto range = [&](const Percentiles& one, auto text) {
    if (job.spread.lives == 0) return std::string("no lives drawn");
    return fmt::format("{} to {}", text(one.p10), text(one.p90));
  };
  const auto days = [](double seconds) { return duration_text(Seconds(seconds)); };
  std::string text = figure(duration_text(life.whole()), "time to train, " + range(job.spread.wall_s, days));
  text += figure(format_percent(life.goodput()), "goodput, " + range(job.spread.goodput, format_percent));
  text += figure(print::grouped_digits(std::round(life.failures)),
      fmt::format("failures, one every {}", duration_text(job.settings.life.failures.mean_between())));
  text += figure(format_seconds(job.base.step), fmt::format("a step, {} of them; {} where work is even",
                                                    print::grouped_digits(job.steps), format_seconds(job.step.even)));
  return "<div class=\"figures\">\n" + text + "</div>\n";
}

std::string time_table(const JobForecast& job) {
  HtmlTable table("Where the time goes", {{"part", CellKind::word}, {"time"}, {"share"}, {"", CellKind::text}});
  for (const TimeRow& row : time_rows(job))
    table.row({html_escaped((row.inside ? "of it " : "") + row.name), duration_text(row.time),
        format_percent(row.time / job.expected.whole()), html_escaped(row.meaning)});
  return table.text();
}

/// As many failures as can be told apart.
std::string one_life(const JobForecast& job, const JobWishes& wishes) {
  constexpr double shown = 12;
  const Seconds until = std::min(job.expected.whole(), job.settings.life.failures.mean_between() * shown);
  PlotSeries life{"hours behind", {}};
  for (const sim::LifePoint& point :
      sim::draw_progress(job.settings.life, static_cast<std::uint64_t>(wishes.seed), until))
    life.dots.push_back({point.time.value() / hour_s, (point.time - point.work).value() / hour_s,
        fmt::format("after {}: {} of work", duration_text(point.time), duration_text(point.work))});
  return "<p>One drawn life from its start, behind one that never fails nor saves: at each failure work falls back to "
         "the last checkpoint that is safe, and goes on after detection and restart.</p>\n" +
         print::line_plot("Life of the job", {"hours since the start"}, {"hours behind"}, {life});
}

struct Variant {
  const char* name;
  void (*change)(JobWishes& wishes);
};
constexpr Variant variants[] = {{"as asked", [](JobWishes&) {}},
    {"checkpoints beside steps (--async)", [](JobWishes& wishes) { wishes.async = true; }},
    {"checkpoints in memory every minute", [](JobWishes& wishes) {
       wishes.memory_interval = std::max(Seconds(60), wishes.memory_interval.value_or(Seconds()));
       wishes.elastic = false;
     }}};

/// The step as it is, the best interval everywhere; spares and assumed storage grow with the GPUs.
std::string over_gpus(const JobForecast& job, const JobWishes& wishes) {
  std::vector<PlotSeries> curves;
  for (const Variant& variant : variants) {
    PlotSeries curve{variant.name, {}};
    for (const double times : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
      JobBase base = job.base;
      base.gpus = std::max<std::int64_t>(1, std::llround(static_cast<double>(base.gpus) * times));
      const double grown = static_cast<double>(base.gpus) / static_cast<double>(job.base.gpus);
      base.checkpoint.fullest_gpu = base.checkpoint.fullest_gpu / grown;
      JobWishes at = wishes;
      at.interval.reset();
      if (at.spares) at.spares = std::llround(static_cast<double>(*at.spares) * grown);
      variant.change(at);
      const auto settings = job_settings(base, at);
      if (!settings) continue;
      const double share = goodput_of(*settings, job.settings.life.work);
      curve.dots.push_back({static_cast<double>(base.gpus), 1 - share,
          fmt::format("{} GPUs: {}", print::grouped_digits(static_cast<double>(base.gpus)), format_percent(share)),
          times == 1});
    }
    curves.push_back(std::move(curve));
  }
  return print::line_plot("Time lost over GPUs", {"GPUs", true}, {"share of time that is lost", true}, curves);
}

std::string over_intervals(const JobForecast& job) {
  const sim::LifeSettings& life = job.settings.life;
  PlotSeries curve{"lost by the exact law", {}}, laws{"what the laws say", {}};
  laws.joined = false;
  const Seconds best = sim::exact_interval(life.failures.mean_between(), life.saves.store);
  for (double power = -3; power <= 3.01; power += 0.25) {
    const Seconds interval = best * std::pow(2.0, power);
    const double share = stored_goodput(life, interval);
    curve.dots.push_back({interval.value() / 60, 1 - share,
        fmt::format("every {}: {}", duration_text(interval), format_percent(share))});
  }
  for (const LawAnswer& law : job.laws)
    laws.dots.push_back({law.interval.value() / 60, 1 - law.goodput,
        fmt::format("{}: every {}, {}", law.name, duration_text(law.interval), format_percent(law.goodput)), true});
  return print::line_plot("Time lost over the checkpoint interval", {"minutes of computing between checkpoints", true},
      {"share of time that is lost", true}, {curve, laws});
}

std::string remarks(const JobForecast& job) {
  std::vector<std::string> items;
  for (const std::string& warning : job.warnings) items.push_back("<b>warning</b>: " + html_escaped(warning));
  for (const std::string& note : job.notes) items.push_back(html_escaped(note));
  return print::html_list(items);
}

}  // namespace

std::string job_page(const JobForecast& job, const JobWishes& wishes) {
  const Scenario& scenario = job.run.scenario;
  const std::string title = fmt::format("{} on {}", scenario.network.row.name, machines_text(job.run));
  std::string body = fmt::format(
      "<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n", html_escaped(title), html_escaped(in_words(scenario)));
  if (!job.never.empty()) body += fmt::format("<p><b>Goodput 0</b>: {}</p>\n", html_escaped(job.never));
  else
    body += figures(job) + print::html_section("time", "Where the time goes", time_table(job)) +
            print::html_section("life", "Life of the job", one_life(job, wishes));
  body += print::html_section("gpus", "Goodput over GPUs", over_gpus(job, wishes)) +
          print::html_section("interval", "Checkpoint interval", over_intervals(job)) +
          print::html_section("remarks", "Warnings and assumptions", remarks(job));
  return print::page_text({.mark = job_page_mark,
      .title = title + ": the job",
      .style = print::line_plot_style(),
      .body = body,
      .data = "",
      .script = ""});
}

}  // namespace stepcast::job
