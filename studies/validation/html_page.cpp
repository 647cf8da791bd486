#include "studies/validation/html_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/version.h"
#include "studies/print/page/html_text.h"

namespace stepcast::validation {
namespace {

/// Months as the records have them, "2024-11": their order is that of the letters.
std::string date_span(const Validation& validation, const std::vector<Run>& runs) {
  std::set<std::string> forecast;
  for (const ValidatedCase& row : validation.cases) forecast.insert(row.id);
  std::string first, last;
  for (const Run& run : runs) {
    if (!forecast.contains(run.id) || run.date.empty()) continue;
    first = first.empty() ? run.date : std::min(first, run.date);
    last = std::max(last, run.date);
  }
  return first == last ? first : first + " to " + last;
}

struct GpuSpan {
  std::size_t runs = 0;
  double fewest = 1e300, most = 0;
  std::set<std::string> precisions;

  void add(const ValidatedCase& row) {
    ++runs;
    fewest = std::min(fewest, row.gpus), most = std::max(most, row.gpus);
    precisions.insert(row.precision);
  }
  [[nodiscard]] std::string counts() const {
    return fewest == most ? html_count(most) : html_count(fewest) + " to " + html_count(most);
  }
};

std::string head_line(const Validation& validation, const std::vector<Run>& runs) {
  GpuSpan all;
  std::set<std::string> gpus;
  for (const ValidatedCase& row : validation.cases) all.add(row), gpus.insert(row.gpu);
  if (all.runs == 0) return "<p>No run could be forecast.</p>\n";
  const std::string dates = date_span(validation, runs);
  return fmt::format(
      "<p><b>{}</b> of training steps on {}, jobs of {} GPUs, in {}{}. Forecast by stepcast {}; {} could not be "
      "forecast.</p>\n",
      html_plural(all.runs, "measured run", "measured runs"), html_plural(gpus.size(), "kind of GPU", "kinds of GPUs"),
      all.counts(), html_escaped(fmt::format("{}", fmt::join(all.precisions, ", "))),
      dates.empty() ? "" : ", from " + html_escaped(dates), version(),
      html_count(static_cast<double>(validation.skipped.size())));
}

std::string figure(const std::string& value, const std::string& words) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, words);
}

/// What was made, held-out figures first. As the classes count: doubtful records are no witnesses.
std::string head_figures(const Validation& validation) {
  if (validation.cases.empty()) return {};
  std::vector<double> held_out, fitted;
  double inside = 0;
  for (const ValidatedCase& row : validation.cases) {
    if (!row.doubt.empty()) continue;
    fitted.push_back(row.error);
    if (row.held_out_s <= 0) continue;
    held_out.push_back(row.held_out_s / row.measured_s - 1);
    if (shown_forecast(row).inside) ++inside;
  }
  const ErrorSummary out = summarise(held_out), in = summarise(fitted);
  std::string text = "<div class=\"figures\">\n";
  if (out.n > 0) {
    text += figure(html_percent(out.mape),
        fmt::format("MAPE, held out: {} forecast without their own group", html_plural(out.n, "run", "runs")));
    text += figure(html_percent(inside / static_cast<double>(out.n)), "of them inside their 80 % interval");
  }
  text += figure(html_percent(in.mape),
      fmt::format("MAPE, everything fitted, {} without doubtful records", html_plural(in.n, "run", "runs")));
  text += figure(html_percent(validation.all.mape),
      fmt::format("MAPE, everything fitted, all {}", html_plural(validation.all.n, "run", "runs")));
  return text + figure(html_percent(validation.coverage), "of all runs inside the 80 % interval, everything fitted") +
         "</div>\n";
}

std::string gpu_table(const Validation& validation) {
  std::map<std::string, GpuSpan> by_gpu;
  for (const ValidatedCase& row : validation.cases) by_gpu[row.gpu].add(row);
  HtmlTable table("GPUs", {{"GPU", CellKind::word}, {"runs"}, {"GPUs of a job"}, {"precisions", CellKind::word}});
  for (const auto& [gpu, span] : by_gpu)
    table.row({html_escaped(gpu), html_count(static_cast<double>(span.runs)), span.counts(),
        html_escaped(fmt::format("{}", fmt::join(span.precisions, ", ")))});
  return table.empty() ? "" : html_details("Which GPUs", table.text());
}

/// A class may leave out something else than the one hold-out that every run carries.
std::string which_forecasts(const std::vector<CasePanel>& panels) {
  for (const CasePanel& panel : panels)
    for (const ValidatedCase* row : panel.cases)
      if (row->held_out_s > 0)
        return "<p class=\"soft\">Marks, and the list of every run, show one hold-out for all: a run's own publication "
               "is "
               "left out, or its own model where its software has a single publication. A class that leaves out "
               "something else has other figures in its row above.</p>\n";
  return {};
}

std::string scatters(const std::vector<CasePanel>& panels) {
  std::string text = which_forecasts(panels) + plot_legend() + "<div class=\"panels\">\n";
  for (const CasePanel& panel : panels)
    text += fmt::format("<figure><figcaption><b>{}</b>{}</figcaption>\n{}</figure>\n", html_escaped(panel.name),
        html_plural(panel.cases.size(), "run", "runs"), time_scatter(panel.cases));
  return text + "</div>\n";
}

std::string strips(const std::vector<CasePanel>& panels) {
  constexpr double reach = 0.5;
  std::string text =
      "<p class=\"soft\">Forecast over measured - 1; to the left the forecast is too fast. Below the marks: median, "
      "and from the 10th to the 90th percentile.</p>\n" +
      error_axis();
  for (const CasePanel& panel : panels) {
    const auto beyond = std::count_if(panel.cases.begin(), panel.cases.end(),
        [](const ValidatedCase* row) { return std::abs(shown_forecast(*row).error) > reach; });
    const std::string more = beyond > 0 ? fmt::format(", {} beyond the ends", beyond) : "";
    text += fmt::format(
        "<div class=\"strip\"><div class=\"label\"><span>{}</span><span class=\"soft\">{}{}</span></div>\n{}</div>\n",
        html_escaped(panel.name), html_plural(panel.cases.size(), "run", "runs"), more, error_strip(panel.cases));
  }
  return text + error_axis();
}

struct PageSection {
  const char *id, *title;
  std::string body;
};

std::string page_body(const std::vector<PageSection>& sections) {
  std::string links = "<nav aria-label=\"Sections\">\n", text;
  for (const PageSection& section : sections) {
    if (section.body.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, section.title);
    text += html_section(section.id, section.title, section.body);
  }
  return links + "</nav>\n" + text;
}

}  // namespace

std::vector<CasePanel> case_panels(const Validation& validation, const std::vector<JudgedRow>& judged) {
  std::vector<CasePanel> panels;
  std::set<const ValidatedCase*> placed;
  for (const JudgedRow& row : judged) {
    CasePanel panel{std::string(row.judged->name), {}};
    for (const ValidatedCase& one : validation.cases)
      if (belongs_to(one, *row.judged)) panel.cases.push_back(&one), placed.insert(&one);
    const bool shown =
        std::any_of(panels.begin(), panels.end(), [&](const CasePanel& other) { return other.cases == panel.cases; });
    if (!panel.cases.empty() && !shown) panels.push_back(std::move(panel));
  }
  CasePanel rest{judged.empty() ? "All runs" : "In no judged class", {}};
  for (const ValidatedCase& one : validation.cases)
    if (!placed.contains(&one)) rest.cases.push_back(&one);
  if (!rest.cases.empty()) panels.push_back(std::move(rest));
  return panels;
}

std::string validation_html(
    const Validation& validation, const std::vector<JudgedRow>& judged, const std::vector<Run>& runs) {
  const std::vector<CasePanel> panels = case_panels(validation, judged);
  const std::vector<PageSection> sections = {{"classes", "Errors by class", html_classes(validation, judged)},
      {"scatter", "Measured against forecast", panels.empty() ? "" : scatters(panels)},
      {"errors", "Distribution of errors", panels.empty() ? "" : strips(panels)},
      {"parameters", "Step parameters", html_parameters()}, {"peers", "Other tools", html_peers(validation)},
      {"ranking", "Ranking of splits", html_ranking(validation)}, {"memory", "Peak memory", html_memory(validation)},
      {"conventions", "Conventions", html_conventions(validation)},
      {"doubts", "Doubtful records", html_doubts(validation)},
      {"skipped", "Runs without a forecast", html_skipped(validation)},
      {"assumptions", "What was assumed", html_assumptions(validation)},
      {"sources", "Sources", html_sources(validation)}, {"runs", "Every run", html_runs(panels)}};
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n"
             "<title>stepcast {} against measured "
             "runs</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n<h1>Forecast training steps against measured "
             "ones</h1>\n",
             version(), html_style()) +
         head_line(validation, runs) + head_figures(validation) + gpu_table(validation) + "</header>\n" +
         page_body(sections) + "</body>\n</html>\n";
}

}  // namespace stepcast::validation
