#include "studies/serve/load_page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/page/html_text.h"
#include "studies/print/line_plot.h"
#include "studies/print/page/page.h"

namespace stepcast::serve {
namespace {

using namespace print;

/// Loads around the one that was asked for: users, or requests per second below saturation.
std::vector<double> loads_around(const Question& question, const Answer& answer) {
  std::set<double> loads;
  if (question.concurrency) {
    for (const double factor : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0})
      loads.insert(std::max(1.0, std::round(factor * static_cast<double>(*question.concurrency))));
  } else {
    for (const double share : {0.1, 0.25, 0.4, 0.55, 0.7, 0.85})
      loads.insert(share * answer.saturation.requests_per_second);
    if (answer.figures) loads.insert(question.rate);
  }
  return {loads.begin(), loads.end()};
}

Question at_load(const Question& question, double load) {
  constexpr std::int64_t rounds = 10;
  Question other = question;
  other.warm_up = 0, other.targets.clear();
  if (!question.concurrency) {
    other.rate = load;
    return other;
  }
  other.concurrency = static_cast<std::int64_t>(load);
  other.law.count = rounds * *other.concurrency;
  return other;
}

struct Percentile {
  const char* name;
  Seconds sim::Latency::*of;
};
constexpr Percentile percentiles[] = {
    {"p50", &sim::Latency::p50}, {"p90", &sim::Latency::p90}, {"p99", &sim::Latency::p99}};

Expected<std::string> latencies(const Question& question, const Answer& answer) {
  if (question.trace) return std::string("<p class=\"soft\">A trace has one load.</p>\n");
  std::vector<PlotSeries> series;
  for (const char* what : {"TTFT", "TPOT"})
    for (const Percentile& percentile : percentiles)
      series.push_back({fmt::format("{} {}", what, percentile.name), {}, true, what == std::string("TPOT")});
  for (const double load : loads_around(question, answer)) {
    TRY(const auto other, serve::answer(at_load(question, load)));
    if (!other.figures) continue;
    const std::string where = question.concurrency ? fmt::format("{:.0f} {}", load, load == 1 ? "user" : "users")
                                                   : fmt::format("{:.3g} requests/s", load);
    std::size_t at = 0;
    for (const sim::Latency* latency : {&other.figures->first_word, &other.figures->per_word})
      for (const Percentile& percentile : percentiles) {
        const Seconds time = latency->*percentile.of;
        PlotSeries& one = series[at++];
        one.dots.push_back({load, time.value(), fmt::format("{}: {} {}", where, one.name, format_seconds(time))});
      }
  }
  return line_plot("latencies over load",
      {question.concurrency ? "users" : "requests/s", question.concurrency.has_value()}, {"seconds", true}, series);
}

/// What one pool did; of two, one reads prompts and the other decodes.
struct PoolRun {
  const char* what;  ///< "" where one does both
  const infer::Serving& serving;
  const sim::Servers& servers;
  const std::vector<sim::RanIteration>& iterations;
};

std::vector<PoolRun> pool_runs(const Answer& answer) {
  if (!answer.prompts) return {{"", answer.serving, answer.servers, answer.run.iterations}};
  return {{"Prefill pool", answer.prompts->serving, answer.prompts->servers, answer.prompts->reading},
      {"Decode pool", answer.serving, answer.servers, answer.run.iterations}};
}

std::string heading(const PoolRun& pool) { return *pool.what == '\0' ? "" : fmt::format("<h3>{}</h3>\n", pool.what); }
/// In front of the name of a picture.
std::string named(const PoolRun& pool, const char* what) {
  return *pool.what == '\0' ? what : fmt::format("{}: {}", pool.what, what);
}

/// The mean over as many parts of the time as a picture can show.
std::string over_time(const PoolRun& pool) {
  constexpr std::size_t parts = 240;
  const auto& iterations = pool.iterations;
  if (iterations.empty()) return heading(pool) + "<p class=\"soft\">Nothing ran.</p>\n";
  const double end = (iterations.back().start + iterations.back().time).value();
  struct Part {
    double time = 0, used = 0, running = 0, waiting = 0;
  };
  std::vector<Part> mean(parts);
  for (const sim::RanIteration& ran : iterations) {
    const double middle = (ran.start + ran.time / 2.0).value() / end * parts;
    Part& part = mean[std::min(parts - 1, static_cast<std::size_t>(middle))];
    const double time = ran.time.value();
    part.time += time, part.used += time * static_cast<double>(ran.used_blocks);
    part.running += time * static_cast<double>(ran.running), part.waiting += time * static_cast<double>(ran.waiting);
  }
  const auto blocks = static_cast<double>(pool.servers.policy.blocks * pool.servers.groups);
  PlotSeries used{"of the cache of a replica, %", {}}, running{"running on a replica", {}},
      waiting{"waiting", {}, true, true};
  for (std::size_t i = 0; i < parts; ++i) {
    if (mean[i].time == 0) continue;
    const double at = end * (static_cast<double>(i) + 0.5) / parts;
    used.dots.push_back({at, 100 * mean[i].used / mean[i].time / blocks, ""});
    running.dots.push_back({at, mean[i].running / mean[i].time, ""});
    waiting.dots.push_back({at, mean[i].waiting / mean[i].time, ""});
  }
  return heading(pool) + line_plot(named(pool, "cache over time"), {"seconds", false}, {"% used", false}, {used}) +
         line_plot(named(pool, "requests over time"), {"seconds", false}, {"requests", false}, {running, waiting});
}

/// The iteration in whose kind most of the time goes, by parts.
std::string iteration_parts(const PoolRun& pool) {
  const auto& iterations = pool.iterations;
  const infer::ServedTimes times(pool.serving);
  std::string text = heading(pool);
  for (const bool prompts : {false, true}) {
    std::vector<std::pair<double, std::size_t>> alike;
    double all = 0, of_kind = 0;
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      all += iterations[i].time.value();
      if ((iterations[i].batch.prompts > 0) != prompts) continue;
      of_kind += iterations[i].time.value(), alike.emplace_back(iterations[i].time.value(), i);
    }
    if (alike.empty()) continue;
    std::ranges::sort(alike);
    const sim::Batch& batch = iterations[alike[alike.size() / 2].second].batch;
    const sim::IterationTime whole = times.whole(batch);
    text += fmt::format(
        "<h3>{}: {} of the time</h3>\n<p>The middle one of {}: {:.0f} sequences decode behind {} positions each{}; {}, "
        "of it {} of the host that the GPU waits for.</p>\n",
        prompts ? "Iterations that prefill" : "Iterations that only decode", html_percent(of_kind / all),
        html_count(static_cast<double>(alike.size())), batch.words,
        html_count(batch.words > 0 ? std::round(batch.contexts / batch.words) : 0),
        prompts
            ? fmt::format(", and {:.0f} prompts with {} positions together", batch.prompts, html_count(batch.positions))
            : "",
        format_seconds(whole.time), format_seconds(whole.host));
    std::vector<const sim::IterationPart*> parts;
    for (const sim::IterationPart& part : whole.parts) parts.push_back(&part);
    std::ranges::stable_sort(parts, [](const auto* a, const auto* b) { return a->time > b->time; });
    HtmlTable table("Parts of an iteration", {{"part", CellKind::word}, {"calls"}, {"time, us"},
                                                 {"share of kernels and moves"}, {"waits for", CellKind::word}});
    for (const sim::IterationPart* part : parts)
      table.row({html_escaped(part->label), fmt::format("{:.0f}", part->calls),
          fmt::format("{:.1f}", part->time.value() * 1e6), html_percent(part->time / (whole.kernels + whole.moves)),
          sim::to_text(part->binding)});
    text += table.text();
  }
  return text;
}

}  // namespace

Expected<std::string> load_page(const Question& question, const Answer& answer) {
  const infer::Serving& serving = answer.serving;
  const std::string title = fmt::format(
      "{} on {} x {}, {}", serving.network().name, answer.gpus, serving.machine().gpu.name, serving.engine.name);
  TRY(const auto curves, latencies(question, answer));
  std::string body = fmt::format("<header><h1>{}</h1></header>\n", html_escaped(title));
  body += html_section(
      "figures", "The load that was asked for", "<pre>" + html_escaped(answer_text(question, answer)) + "</pre>\n");
  body += html_section("latencies", "Latencies over load", curves);
  if (answer.figures) {
    std::string time, parts;
    for (const PoolRun& pool : pool_runs(answer)) time += over_time(pool), parts += iteration_parts(pool);
    body += html_section("time", "Over time", time);
    body += html_section("iteration", "What an iteration's time goes into", parts);
  }
  return page_text({.mark = load_page_name,
      .title = title + ": stepcast serve",
      .style = line_plot_style(),
      .body = body,
      .data = "",
      .script = ""});
}

}  // namespace stepcast::serve
