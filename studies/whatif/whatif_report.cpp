#include "studies/whatif/whatif_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/bars.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/run/figures/phases.h"
#include "studies/print/table.h"

namespace stepcast::whatif {
namespace {

constexpr int wing_columns = 12;  // of a tornado's bar, each side
constexpr double least_shown_change = 1e-6;

std::string signed_seconds(Seconds change) {
  if (std::abs(change.value()) < 1e-9) return "0";
  return fmt::format("{}{}", change < Seconds(0) ? "-" : "+", format_seconds(Seconds(std::abs(change.value()))));
}

std::string factor_text(double factor) {
  return factor < 1 ? fmt::format("1/{:.4g}x", 1 / factor) : fmt::format("{:.4g}x", factor);
}

std::string short_value(const Variation& variation) {
  return variation.factor > 0 ? factor_text(variation.factor) : variation.to;
}

std::string fit_mark(const Outcome& outcome) {
  return outcome.fits ? format_bytes(outcome.memory) : fmt::format("{}, too much", format_bytes(outcome.memory));
}

std::string moved_text(const Outcome& before, const Outcome& after) {
  const PhaseMove move = moved_most(before, after);
  return move.name.empty() ? "" : fmt::format("{} {}", move.name, signed_seconds(move.change));
}

bool changes_fit(const LeverEffect& lever, const Outcome& before) {
  return std::any_of(lever.variations.begin(), lever.variations.end(),
      [&](const Variation& v) { return v.after.fits != before.fits; });
}

struct Wings {
  const Variation *fastest = nullptr, *slowest = nullptr;
};

Wings wings_of(const LeverEffect& lever, const Outcome& before) {
  Wings wings;
  for (const Variation& variation : lever.variations) {
    const double change = time_change(before, variation.after);
    if (change < -least_shown_change && (!wings.fastest || change < time_change(before, wings.fastest->after)))
      wings.fastest = &variation;
    if (change > least_shown_change && (!wings.slowest || change > time_change(before, wings.slowest->after)))
      wings.slowest = &variation;
  }
  return wings;
}

std::string fit_turn(const Outcome& before, const Outcome& after) {
  if (before.fits == after.fits) return "";
  return after.fits ? ", fits" : ", does not fit";
}

std::string wing_label(const Variation* variation, const Outcome& before) {
  if (variation == nullptr) return "";
  return fmt::format("{} {}{}", short_value(*variation), signed_percent(time_change(before, variation->after)),
      fit_turn(before, variation->after));
}

/// What a lever that moves no time does to the memory.
std::string fit_label(const LeverEffect& lever, const Outcome& before) {
  for (const Variation& variation : lever.variations)
    if (variation.after.fits != before.fits) return short_value(variation) + fit_turn(before, variation.after);
  return "";
}

double wing_length(const Variation* variation, const Outcome& before) {
  return variation == nullptr ? 0 : std::abs(std::log1p(time_change(before, variation->after)));
}

/// `share` of a wing that grows to the left: blocks of the right half, and of the right eighth for what is less.
std::string left_wing(double share, bool unicode) {
  const int halves = static_cast<int>(std::lround(share * wing_columns * 2));
  std::string text;
  if (share > 0 && !unicode) text = std::string(static_cast<std::size_t>(std::max(1, halves / 2)), '#');
  if (share > 0 && unicode) {
    if (halves == 0) text = "\u2595";
    if (halves % 2 == 1) text = "\u2590";
    for (int i = 0; i < halves / 2; ++i) text += "\u2588";
  }
  return std::string(static_cast<std::size_t>(wing_columns) - shown_width(text), ' ') + text;
}

std::string right_wing(double share, bool unicode) {
  const std::string text = bar(share, wing_columns, unicode);
  return text + std::string(static_cast<std::size_t>(wing_columns) - shown_width(text), ' ');
}

std::string tornado(const Sensitivity& study, const std::vector<const LeverEffect*>& levers, const Console& console) {
  const Paint paint(console);
  double longest = 0;
  for (const LeverEffect* lever : levers) longest = std::max(longest, lever->largest);
  Table table({{"lever"}, {"less", Align::right}, {""}, {"more"}});
  for (const LeverEffect* lever : levers) {
    const Wings wings = wings_of(*lever, study.before);
    const auto share = [&](const Variation* wing) {
      return longest > 0 ? wing_length(wing, study.before) / longest : 0;
    };
    std::string bars = paint.good(left_wing(share(wings.fastest), console.unicode)) +
                       (console.unicode ? "\u2502" : "|") +
                       paint.warm(right_wing(share(wings.slowest), console.unicode));
    const bool still = wings.fastest == nullptr && wings.slowest == nullptr;
    const std::string slower = still ? fit_label(*lever, study.before) : wing_label(wings.slowest, study.before);
    table.add({lever->name, wing_label(wings.fastest, study.before), std::move(bars), slower});
  }
  return fmt::format(
             "\n{}  {}\n", paint.bold("What moves the step"), paint.dim("GPU time per token; bars by its logarithm")) +
         table.text("  ");
}

std::string figures_table(
    const Sensitivity& study, const std::vector<const LeverEffect*>& levers, const Console& console) {
  const Paint paint(console);
  Table table({{"lever"}, {"from"}, {"to"}, {"step", Align::right}, {"GPU time/token", Align::right},
      {"tokens/s/GPU", Align::right}, {"memory", Align::right}, {"moved most"}});
  for (const LeverEffect* lever : levers)
    for (const Variation& variation : lever->variations) {
      const Outcome& after = variation.after;
      const bool first = &variation == &lever->variations.front();
      const std::string memory = fit_mark(after);
      table.add({first ? lever->id : "", first ? lever->from : "", variation.to, format_seconds(after.step_time),
          signed_percent(time_change(study.before, after)),
          signed_percent(after.tokens_per_s_per_gpu / study.before.tokens_per_s_per_gpu - 1),
          after.fits ? memory : paint.bad(memory), moved_text(study.before, after)});
    }
  return fmt::format("\n{}\n", paint.bold("In figures")) + table.text("  ");
}

std::string idle_levers(const Sensitivity& study, const Console& console) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LeverEffect& lever : study.levers)
    if (!lever.idle.empty()) by_reason[lever.idle].push_back(lever.id);
  if (by_reason.empty()) return {};
  std::string text = fmt::format("\n{}\n", Paint(console).bold("Without effect here"));
  for (const auto& [reason, ids] : by_reason)
    text += paragraph(fmt::format("{}: {}", fmt::join(ids, ", "), reason), "  ", "    ", page_columns);
  return text;
}

std::string refused_steps(const Sensitivity& study, const Console& console) {
  if (study.refused.empty()) return {};
  std::string text = fmt::format("\n{}\n", Paint(console).bold("Cannot run"));
  for (const RefusedStep& step : study.refused) text += fmt::format("  {} {}: {}\n", step.id, step.to, step.reason);
  return text;
}

std::string phase_table(const Outcome& before, const Outcome& after) {
  Table table({{"phase"}, {"before", Align::right}, {"after", Align::right}, {"change", Align::right}});
  const auto then = phase_rows(before.phases), now = phase_rows(after.phases);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool there = then[i].time > Seconds(1e-9) || now[i].time > Seconds(1e-9);
    if (there)
      table.add({std::string(now[i].name), format_seconds(then[i].time), format_seconds(now[i].time),
          signed_seconds(now[i].time - then[i].time)});
  }
  return table.text("  ");
}

}  // namespace

std::string signed_percent(double change) {
  const double percent = 100 * change;
  if (std::abs(percent) < 0.005) return "0 %";
  return std::abs(percent) < 0.1 ? fmt::format("{:+.2f} %", percent) : fmt::format("{:+.1f} %", percent);
}

std::string run_title(const Scenario& scenario, const Console& console, const std::string& nodes) {
  const Plan& plan = scenario.plan;
  const Paint paint(console);
  std::string text = paint.bold(fmt::format("{} on {} x {} ({}{})", scenario.network.row.name, plan.gpus,
                         scenario.machine.row.gpu.name, scenario.machine.row.name, nodes)) +
                     "\n" +
                     wrapped({in_words(scenario),
                                 fmt::format("{} x {} sequences of {} per step", scenario.micro_batches,
                                     plan.global_batch / scenario.micro_batches, plan.sequence),
                                 fmt::format("micro-batch {}", plan.micro_batch), to_text(plan.precision)},
                         "; ", "", page_columns);
  for (const std::string& warning : scenario.warnings)
    text += paint.warm("warning: ") + paragraph(warning, "", "  ", page_columns - 9);
  return text;
}

std::string outcome_words(const Outcome& outcome) {
  return fmt::format("{} ({} to {}), {} tokens/s/GPU, {} of {}{}", format_seconds(outcome.step_time),
      format_seconds(outcome.p10), format_seconds(outcome.p90), grouped_digits(outcome.tokens_per_s_per_gpu),
      format_bytes(outcome.memory), format_bytes(outcome.capacity), outcome.fits ? "" : ": does NOT fit");
}

std::vector<const LeverEffect*> shown_levers(const Sensitivity& study, std::size_t top) {
  std::vector<const LeverEffect*> shown;
  for (const LeverEffect& lever : study.levers)
    if (lever.idle.empty() && (shown.size() < top || changes_fit(lever, study.before))) shown.push_back(&lever);
  return shown;
}

std::string whatif_text(const Sensitivity& study, std::size_t top, const Console& console) {
  const std::vector<const LeverEffect*> levers = shown_levers(study, top);
  const std::string title = study.title.empty() ? run_title(study.scenario, console) : study.title;
  std::string text = title + fmt::format("\nStep {}\n", outcome_words(study.before));
  text += tornado(study, levers, console) + figures_table(study, levers, console);
  std::size_t acting = 0;
  for (const LeverEffect& lever : study.levers) acting += lever.idle.empty() ? 1 : 0;
  if (acting > levers.size())
    text += fmt::format("  {} more that move less: --top {}\n", acting - levers.size(), acting);
  return text + idle_levers(study, console) + refused_steps(study, console);
}

std::string change_text(const ChangeEffect& effect, const Console& console) {
  const Paint paint(console);
  std::string text =
      run_title(effect.scenario, console) +
      fmt::format("\nbefore  {}\nafter   {}\n", outcome_words(effect.before), outcome_words(effect.together));
  text += fmt::format("\n{}  {} tokens/s/GPU\n",
      paint.bold(fmt::format("GPU time per token {}", signed_percent(time_change(effect.before, effect.together)))),
      signed_percent(effect.together.tokens_per_s_per_gpu / effect.before.tokens_per_s_per_gpu - 1));
  if (effect.split != in_words(effect.scenario))
    text += paragraph("plan now: " + effect.split, "  ", "    ", page_columns);
  text += phase_table(effect.before, effect.together);
  text += fmt::format("\n{}\n", paint.bold(effect.alone.size() > 1 ? "Each by itself" : "The change"));
  Table table({{"change"}, {"from"}, {"to"}, {"step", Align::right}, {"GPU time/token", Align::right},
      {"memory", Align::right}, {"moved most"}});
  std::string refused;
  for (const ChangeEffect::One& one : effect.alone) {
    if (!one.refused.empty()) {
      refused += fmt::format("  {}={} by itself cannot run: {}\n", one.change.id, one.change.value, one.refused);
      continue;
    }
    table.add({one.name, one.from, one.to, format_seconds(one.after.step_time),
        signed_percent(time_change(effect.before, one.after)), fit_mark(one.after),
        moved_text(effect.before, one.after)});
  }
  return text + (table.empty() ? "" : table.text("  ")) + refused;
}

}  // namespace stepcast::whatif
