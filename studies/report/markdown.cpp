// The forecast for a pull request: tables, and the pictures that lie beside it.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/report/folder.h"
#include "studies/report/page_parts.h"
#include "studies/run/figures/memory_fit.h"
#include "studies/run/figures/phases.h"

namespace stepcast::report {
namespace {

/// Names may hold anything: no character of one may be read as Markdown or HTML, or end a table's cell.
std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view special = "\\`*_{}[]<>()#+!|~&";
  std::string safe;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r') {
      safe += ' ';
      continue;
    }
    if (special.find(letter) != std::string_view::npos) safe += '\\';
    safe += letter;
  }
  return safe;
}

/// Before the figures: what cannot be, and what of the input is not in them.
std::string markdown_verdict(const Dossier& dossier) {
  std::string text;
  if (const std::string much = too_much_memory(dossier.prediction.step.memory); !much.empty())
    text += fmt::format("**{}**\n\n", markdown_escaped(much));
  for (const std::string& reading : dossier.scenario.warnings) text += markdown_escaped(reading) + "\n\n";
  return text;
}

std::string markdown_figures(const Dossier& dossier) {
  const Prediction& prediction = dossier.prediction;
  const StepReport& step = prediction.step;
  const MemoryReport& memory = step.memory;
  return fmt::format(
      "| step time | 80 % interval | tokens/s/GPU | MFU ({}) | HFU | bubble | memory |\n|--:|--:|--:|--:|--:|--:|--:|\n"
      "| **{}** | {} to {} | {} | {} | {} | {} | {} of {}{} |\n",
      attention_words(dossier.roofline.fall), format_seconds(step.step_time), format_seconds(step.p10),
      format_seconds(step.p90), grouped_digits(step.tokens_per_s_per_gpu), format_percent(prediction.mfu),
      format_percent(prediction.hfu), format_percent(step.bubble_fraction), format_bytes(memory.peak),
      format_bytes(memory.capacity), memory.fits ? "" : ", does NOT fit");
}

std::string markdown_phases(const StepReport& step) {
  std::string text = "| where the time goes, on the slowest stage | time | share |\n|---|--:|--:|\n";
  constexpr double least_share = 0.0005;
  Seconds small;
  for (const PhaseRow& row : phase_rows(step.phases)) {
    const double share = row.time / step.step_time;
    if (share < least_share) small += row.time;
    else text += fmt::format("| {} | {} | {} |\n", row.name, format_seconds(row.time), format_percent(share));
  }
  return text + fmt::format("| all else | {} | {} |\n", format_seconds(small), format_percent(small / step.step_time));
}

std::string markdown_operators(const RooflineReport& report) {
  constexpr std::size_t most = 8;
  std::string text =
      "| operator | pass | share | FLOP/B | rate | of the roof | bound | source |\n|---|---|--:|--:|--:|--:|---|---|\n";
  for (std::size_t i = 0; i < std::min(most, report.points.size()); ++i) {
    const OperatorPoint& point = report.points[i];
    const bool flops = point.flops > Flops(0);
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", markdown_escaped(point.name),
        to_text(point_pass(point.pass)), format_percent(point.share),
        flops ? grouped_digits(point.intensity(MemoryLevel::hbm)) : "-",
        flops ? format_flops(point.rate) : format_rate(point.bandwidth), format_percent(point.share_of_roof),
        point.bound, to_text(point.source));
  }
  return text;
}

std::string markdown_levers(const Waterfall& fall) {
  if (fall.levers.empty())
    return fall.levers_missing.empty() ? "" : "No levers: " + markdown_escaped(fall.levers_missing) + "\n";
  std::string text = "| what would help | from | to | gain | of |\n|---|---|---|--:|---|\n";
  for (const Lever& lever : fall.levers)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", markdown_escaped(lever.name), markdown_escaped(lever.from),
        markdown_escaped(lever.to), format_percent(lever.gain), lever.of_machine ? "the machine" : "the plan");
  return text;
}

std::string markdown_warnings(const Dossier& dossier) {
  std::string text;
  for (const std::string& warning : dossier.roofline.warnings) text += "- " + markdown_escaped(warning) + "\n";
  return text.empty() ? "" : "\n**Warnings**\n\n" + text;
}

std::string picture_line(const char* name, const char* about) { return fmt::format("![{}]({})\n\n", about, name); }

}  // namespace

std::string dossier_markdown(const Dossier& dossier) {
  const StepReport& step = dossier.prediction.step;
  return fmt::format("## {}\n\n{}, {}; forecast by stepcast\n\n", markdown_escaped(run_title(dossier)),
             markdown_escaped(in_words(dossier.scenario)), to_text(dossier.roofline.precision)) +
         markdown_verdict(dossier) + markdown_figures(dossier) + "\n" +
         picture_line("waterfall.svg", "where the step goes") + markdown_phases(step) + "\n" +
         markdown_levers(dossier.roofline.fall) + "\n" +
         picture_line("roofline.svg", "operators under the GPU's roofs") + markdown_operators(dossier.roofline) + "\n" +
         picture_line("network.svg", "collectives under the roofs of their links") +
         picture_line("dataflow.svg", "operators at every boundary that their data cross") +
         picture_line("timeline.svg", "the pipeline in time") + picture_line("memory.svg", "memory in time") +
         "The same run again: `stepcast predict scenario.json`\n" + markdown_warnings(dossier);
}

}  // namespace stepcast::report
