#include "studies/scale/report.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/print/terminal_plot.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::scale {
namespace {

const char* curve_heading(Scaling scaling) { return scaling == Scaling::strong ? "Strong scaling" : "Weak scaling"; }

const char* curve_meaning(Scaling scaling) {
  return scaling == Scaling::strong ? "the global batch stays" : "the global batch grows with the GPUs";
}

std::string plus_minus(const Outcome& outcome) {
  return fmt::format("{} to {}", format_seconds(outcome.p10), format_seconds(outcome.p90));
}

std::string memory_cell(const Outcome& outcome, const Paint& paint) {
  return outcome.fits ? format_bytes(outcome.memory)
                      : paint.bad(fmt::format("{}, too much", format_bytes(outcome.memory)));
}

std::string runs_table(const ScalingCurve& curve, const Paint& paint) {
  Table table({{"GPUs", Align::right}, {"batch", Align::right}, {"micro-batches", Align::right}, {"step", Align::right},
      {"interval", Align::right}, {"tokens/s", Align::right}, {"speed-up", Align::right}, {"efficiency", Align::right},
      {"exposed", Align::right}, {"bubble", Align::right}, {"gradient sync", Align::right}, {"memory", Align::right}});
  for (const ScaledRun& run : curve.runs) {
    const Outcome& outcome = run.outcome;
    table.add({grouped_digits(static_cast<double>(run.gpus)), grouped_digits(static_cast<double>(run.global_batch)),
        grouped_digits(static_cast<double>(run.micro_batches)), format_seconds(outcome.step_time), plus_minus(outcome),
        grouped_digits(outcome.tokens / outcome.step_time.value()), fmt::format("{:.2f}", run.speed_up),
        format_percent(run.efficiency), format_percent(outcome.phases.exposed_communication / outcome.step_time),
        format_percent(outcome.bubble_fraction), format_seconds(outcome.phases.gradient_sync),
        memory_cell(outcome, paint)});
  }
  return table.text("  ");
}

std::string fit_line(const ScalingCurve& curve) {
  const bool strong = curve.scaling == Scaling::strong;
  const char* law = strong ? "Amdahl" : "Gustafson";
  if (!curve.fit) return fmt::format("{}: no fit, there is one run", law);
  const SerialFit& fit = *curve.fit;
  std::string text = fmt::format("{}: serial share {:.3g} %", law, 100 * fit.serial);
  if (fit.serial < 0) text += ", superlinear: what is sharded over more GPUs shrinks faster than they grow";
  if (strong && fit.serial > 0) text += fmt::format(", at most {:.3g} x the speed of the smallest run", 1 / fit.serial);
  return text + (fit.runs == 1 ? "; from two runs, so that it says nothing of how well the law fits"
                               : fmt::format("; the law is at most {:.2g} % off these runs", 100 * fit.worst));
}

std::string skipped_lines(const ScalingCurve& curve) {
  std::string text;
  for (const SkippedCount& one : curve.skipped)
    text += paragraph(fmt::format("skipped {} GPUs: {}", one.gpus, one.reason), "  ", "    ", page_columns);
  return text;
}

std::string horizon_label(const Horizon& horizon) {
  const bool elsewhere = horizon.run && horizon.run->gpus != horizon.wanted;
  return fmt::format("{:.3g}x{}", horizon.times, elsewhere ? " (nearest)" : "");
}

std::string grown_text(const Horizon& horizon) {
  if (horizon.grown.name.empty()) return "nothing";
  return fmt::format("{} +{}", horizon.grown.name, format_seconds(horizon.grown.change));
}

std::string horizons(const ScalingCurve& curve, const Paint& paint) {
  Table table({{""}, {"GPUs", Align::right}, {"efficiency", Align::right}, {"micro-batches", Align::right},
      {"bubble", Align::right}, {"memory", Align::right}, {"most above ideal"}});
  std::string reasons;
  bool said_first = curve.runs.front().outcome.fits;  // above the table, by first_break
  for (const Horizon& horizon : curve.horizons) {
    if (horizon.run) {
      const ScaledRun& run = *horizon.run;
      table.add({horizon_label(horizon), grouped_digits(static_cast<double>(run.gpus)), format_percent(run.efficiency),
          grouped_digits(static_cast<double>(run.micro_batches)), format_percent(run.outcome.bubble_fraction),
          memory_cell(run.outcome, paint), grown_text(horizon)});
    }
    for (const std::string& one : horizon.breaks) {
      if (!said_first)
        reasons += paragraph(fmt::format("at {:.3g}x: {}", horizon.times, one), "  ", "    ", page_columns);
      said_first = false;
    }
  }
  return (table.empty() ? "" : table.text("  ")) + reasons;
}

std::string plot_count(double value) { return grouped_digits(value); }
std::string plot_growth(double value) { return fmt::format("{:.3g}x", value); }

/// Speed-up in tokens/s, of both kinds of scaling, under the line of no loss.
std::string speed_plot(const ScaleStudy& study, const Console& console) {
  LogPlot plot{"GPUs", plot_count, plot_growth, {}};
  PlotLine ideal{"ideal speed-up", {}, 1, '.'};
  for (const ScalingCurve& curve : study.curves) {
    const bool strong = curve.scaling == Scaling::strong;
    PlotLine line{strong ? "strong" : "weak", {}, strong ? 0 : 3, strong ? '*' : 'o'};
    const auto first = static_cast<double>(curve.runs.front().gpus), last = static_cast<double>(curve.runs.back().gpus);
    for (const ScaledRun& run : curve.runs) line.points.emplace_back(static_cast<double>(run.gpus), run.speed_up);
    if (ideal.points.empty() || last > ideal.points.back().first) ideal.points = {{first, 1}, {last, last / first}};
    plot.lines.push_back(std::move(line));
  }
  plot.lines.insert(plot.lines.begin(), std::move(ideal));
  const std::string text = plot_text(plot, console);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string first_break(const ScalingCurve& curve) {
  const Outcome& smallest = curve.runs.front().outcome;
  if (!smallest.fits)
    return fmt::format("already the smallest run does not fit: {} of {}", format_bytes(smallest.memory),
        format_bytes(smallest.capacity));
  for (const Horizon& horizon : curve.horizons)
    if (!horizon.breaks.empty())
      return fmt::format("at {:.3g}x ({} GPUs): {}", horizon.times, grouped_digits(static_cast<double>(horizon.wanted)),
          horizon.breaks.front());
  if (curve.horizons.empty() || !curve.horizons.back().run) return "nothing";
  const Horizon& last = curve.horizons.back();
  return fmt::format("nothing up to {:.3g}x, where efficiency is {}", last.times, format_percent(last.run->efficiency));
}

std::string scale_text(const ScaleStudy& study, const Console& console) {
  const Paint paint(console);
  std::string text = run_title(study.scenario, console);
  for (const ScalingCurve& curve : study.curves) {
    text +=
        fmt::format("\n{}  {}\n", paint.bold(curve_heading(curve.scaling)), paint.dim(curve_meaning(curve.scaling)));
    text += runs_table(curve, paint) + skipped_lines(curve) + paragraph(fit_line(curve), "  ", "    ", page_columns);
  }
  text += speed_plot(study, console);
  for (const ScalingCurve& curve : study.curves) {
    text += fmt::format("\n{}  {}\n",
        paint.bold(fmt::format("What breaks first, {}", curve.scaling == Scaling::strong ? "strong" : "weak")),
        paint.dim("the plan stays, dp grows"));
    text += paragraph(first_break(curve), "  ", "    ", page_columns) + horizons(curve, paint);
  }
  return text;
}

}  // namespace stepcast::scale
