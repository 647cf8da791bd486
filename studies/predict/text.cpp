#include "studies/predict/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/bars.h"
#include "studies/print/digits.h"
#include "studies/run/figures/collectives.h"
#include "studies/print/paint.h"
#include "studies/run/figures/memory_fit.h"
#include "studies/run/figures/partition.h"
#include "studies/run/figures/phases.h"
#include "studies/print/table.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::predict {
namespace {

constexpr int bar_columns = 44;
constexpr std::size_t most_collectives = 8;
constexpr std::size_t most_stages = 6;

struct Page {
  const Scenario& scenario;
  const Prediction& prediction;
  const StepReport& step;
  Paint paint;
  bool unicode;
  const FlopsCount* count = nullptr;  ///< with what its program would print
  std::vector<StepWith> steps = {};

  [[nodiscard]] std::string heading(std::string_view text, std::string_view beside = {}) const {
    return fmt::format("\n{}{}{}\n", paint.bold(text), beside.empty() ? "" : "  ", paint.dim(beside));
  }
};

std::string title(const Scenario& scenario, const Console& console) {
  const std::int64_t gpus = scenario.plan.gpus, per_node = scenario.machine.row.levels.front().gpus;
  return run_title(
      scenario, console, gpus > per_node ? fmt::format(", {} nodes", (gpus + per_node - 1) / per_node) : "");
}

/// What stands above all figures: a run that cannot be.
std::string verdict(const Page& page) {
  std::string text;
  if (const std::string much = too_much_memory(page.step.memory); !much.empty()) text += page.paint.bad(much) + "\n";
  return text.empty() ? text : "\n" + text;
}

/// Of a network that no row of the catalogue tells of.
std::string parameters(const Scenario& scenario) {
  if (!scenario.network.id.empty()) return "";
  const NetworkSpec* row = same_in_catalog(scenario.network.row);
  const std::int64_t all = run::parameters_of(scenario.network),
                     active = run::active_parameters_of(scenario.network).value_or(all);
  const auto digits = [](std::int64_t count) { return grouped_digits(static_cast<double>(count)); };
  return fmt::format("{} parameters{}{}\n", digits(all),
      active == all ? "" : fmt::format(", of which a token meets {}", digits(active)),
      row == nullptr ? "" : fmt::format(": the layers of {} ({})", row->name, row->id));
}

/// How the input was read, and what of it does nothing here.
std::string readings(const Page& page) {
  std::string text;
  for (const Remark& remark : page.scenario.remarks)
    if (remark.above) text += page.paint.dim(paragraph(remark.text, "", "  ", page_columns));
  return text.empty() ? text : "\n" + text;
}

std::string utilisation(const char* name, double fraction, const Page& page, const char* beside) {
  return fmt::format("{} {} of {} {}{}", name, format_percent(fraction), format_flops(page.prediction.peak),
      to_text(page.scenario.plan.precision), beside);
}

std::string headline(const Page& page) {
  const StepReport& step = page.step;
  const Plan& plan = page.scenario.plan;
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
  Table table({{""}, {"", Align::right}, {""}});
  table.add({page.paint.bold("Step time"), page.paint.bold(format_seconds(step.step_time)),
      fmt::format("{} to {} (10th to 90th percentile)", format_seconds(step.p10), format_seconds(step.p90))});
  for (const StepWith& one : page.steps)
    table.add({std::string(one.what), format_seconds(one.time), std::string(one.why)});
  table.add({"Tokens/s/GPU", grouped_digits(step.tokens_per_s_per_gpu),
      fmt::format("{} tokens per step, {} tokens/s in all", grouped_digits(tokens),
          grouped_digits(tokens / step.step_time.value()))});
  const char* attention = page.scenario.causal_attention ? ", attention counted causal" : ", attention counted full";
  table.add({"Model FLOP/s", format_flops(page.prediction.model_rate),
      page.paint.bold(utilisation("MFU", page.prediction.mfu, page, attention))});
  if (page.count != nullptr)
    table.add(
        {std::string(page.count->name), format_flops(run::printed_rate(*page.count, page.scenario, page.prediction)),
            fmt::format("as its programs print it, {} FLOPs per token",
                grouped_digits(run::flops_of_token(*page.count, page.scenario)))});
  table.add({"Hardware FLOP/s", format_flops(page.prediction.hardware_rate),
      utilisation("HFU", page.prediction.hfu, page, ", as executed, with recompute")});
  const std::int64_t stages = page.prediction.program.stages;
  table.add({"Pipeline bubble", format_percent(step.bubble_fraction),
      stages == 1 ? std::string("one stage")
                  : fmt::format("idle share over all {} stages, {} micro-batch{}", stages, page.scenario.micro_batches,
                        page.scenario.micro_batches == 1 ? "" : "es")});
  return "\n" + table.text("");
}

/// Phases too short for a bar share one line.
std::string phases(const Page& page) {
  constexpr double least_share = 0.0005;
  Table table({{""}, {"", Align::right}, {"", Align::right}, {""}});
  std::vector<std::string> small, nothing;
  for (const PhaseRow& phase : phase_rows(page.step.phases)) {
    const double share = phase.time / page.step.step_time;
    if (share < 1e-9) {  // rounding of differences
      nothing.emplace_back(phase.name);
    } else if (share < least_share) {
      small.push_back(fmt::format("{} {}", phase.name, format_seconds(phase.time)));
    } else {
      table.add({std::string(phase.name), format_seconds(phase.time), format_percent(share),
          page.paint.cool(bar(share, bar_columns, page.unicode))});
    }
  }
  if (!nothing.empty()) small.push_back(fmt::format("nothing in {}", fmt::join(nothing, ", ")));
  return page.heading("Where the time goes", "on the slowest stage") + table.text("  ") +
         page.paint.dim(wrapped(small, "; ", "  ", page_columns));
}

bool alike(const StageReport& a, const StageReport& b) {
  const auto near = [](Seconds x, Seconds y) { return std::abs((x - y).value()) <= 1e-6 * std::abs(x.value()); };
  return a.layers == b.layers && near(a.forward, b.forward) && near(a.input_grad, b.input_grad) &&
         near(a.weight_grad, b.weight_grad);
}

/// "; slowest 1.12 x the mean, which costs 35.1 ms (4.2 % of the step)"; "..., which costs nothing" where equal stages
/// would not be faster.
std::string imbalance_text(const Page& page, const PartitionReport& partition) {
  const Seconds cost = partition.balance.cost;
  if (partition.balance.costs_nothing())
    return fmt::format("; slowest {:.2f} x the mean, which costs nothing: equal stages would be no faster",
        partition.balance.imbalance);
  return fmt::format("; slowest {:.2f} x the mean, which costs {} ({} of the step)", partition.balance.imbalance,
      format_seconds(cost), format_percent(cost / page.step.step_time));
}

bool uneven(const PartitionReport& partition) {
  const auto other = [&](std::int64_t layers) { return layers != partition.layers.front(); };
  return std::any_of(partition.layers.begin(), partition.layers.end(), other);
}

/// Equal neighbours share a row: "1-6".
std::string stages(const Page& page) {
  Table table({{"stage"}, {"layers", Align::right}, {"forward", Align::right}, {"input grad", Align::right},
      {"weight grad", Align::right}});
  const std::vector<StageReport>& all = page.step.stages;
  std::size_t rows = 0, shown = 0;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last + 1 < all.size() && alike(all[first], all[last + 1])) ++last;
    if (++rows <= most_stages) {
      table.add({first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last),
          fmt::format("{}", all[first].layers), format_seconds(all[first].forward),
          format_seconds(all[first].input_grad), format_seconds(all[first].weight_grad)});
      shown = last + 1;
    }
    first = last + 1;
  }
  std::string beside = "one micro-batch", below;
  if (all.size() > 1) {
    const PartitionReport partition = partition_report(page.scenario, page.prediction);
    beside += imbalance_text(page, partition);
    if (uneven(partition)) below = page.paint.dim(paragraph("layers " + partition.layout, "  ", "  ", page_columns));
  }
  std::string text = page.heading("Stages", beside) + table.text("  ");
  if (shown < all.size()) text += page.paint.dim(fmt::format("  {} more stages: --json\n", all.size() - shown));
  return text + below;
}

std::string collectives_section(const Page& page) {
  const std::vector<CollectiveSum> sums = joined_collectives(page.step);
  if (sums.empty()) return page.heading("Collectives", "none");
  Table table({{"kind"}, {"axis"}, {"GPUs", Align::right}, {"span"}, {"calls", Align::right},
      {"received", Align::right}, {"time", Align::right}, {"exposed", Align::right}, {"source"}});
  Seconds rest_time, rest_exposed;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const CollectiveSum& sum = sums[i];
    if (i >= most_collectives) {
      rest_time += sum.time;
      rest_exposed += sum.exposed;
      continue;
    }
    table.add({sum.kind, sum.axis, fmt::format("{}", sum.group_size), sum.span, grouped_digits(sum.count),
        format_bytes_decimal(sum.received), format_seconds(sum.time), format_seconds(sum.exposed),
        to_text(sum.source)});
  }
  Seconds elsewhere;
  for (const CollectiveReport& one : page.step.collectives)
    if (one.stage != page.step.slowest_stage) elsewhere += one.time;
  std::string beside = "one GPU of the slowest stage, whole step";
  if (elsewhere.value() > 0) beside += fmt::format("; other stages have {} of their own", format_seconds(elsewhere));
  std::string text = page.heading("Collectives", beside) + table.text("  ");
  if (sums.size() > most_collectives)
    text += page.paint.dim(fmt::format("  and {} smaller: {}, exposed {} (--explain lists all)\n",
        sums.size() - most_collectives, format_seconds(rest_time), format_seconds(rest_exposed)));
  return text;
}

std::string memory(const Page& page) {
  const MemoryReport& memory = page.step.memory;
  const double share = memory.peak / memory.capacity;
  const std::string verdict =
      memory.fits
          ? page.paint.good(fmt::format("fits, {} free", format_bytes(memory.capacity - memory.peak)))
          : page.paint.bad(fmt::format("does NOT fit: {} too much", format_bytes(memory.peak - memory.capacity)));
  const std::string gauge_text = gauge(share, 24, page.unicode);
  std::string text = page.heading("Memory", fmt::format("fullest rank {}", memory.rank)) +
                     fmt::format("  {} of {}  {}  {}\n", format_bytes(memory.peak), format_bytes(memory.capacity),
                         memory.fits ? page.paint.cool(gauge_text) : page.paint.bad(gauge_text), verdict);
  std::vector<std::string> parts;
  for (const LifetimeRow& row : lifetime_rows(memory))
    if (row.bytes > Bytes(0)) parts.push_back(fmt::format("{} {}", row.name, format_bytes(row.bytes)));
  return text + wrapped(parts, ", ", "  ", page_columns);
}

/// A profile's context fills a paragraph: the page says where to read it.
std::string rates_text(const Scenario& scenario) {
  const Profile& profile = scenario.profile.row;
  std::vector<std::string> laws;
  for (const RooflineLaw& law : profile.gemm)
    if (law.precision == scenario.plan.precision)
      laws.push_back(fmt::format("matrix products {}", to_text(law.source)));
  laws.push_back(fmt::format("attention {}", to_text(profile.attention.source)));
  laws.push_back(fmt::format("memory-bound kernels {}", to_text(profile.memory.source)));
  const std::string more =
      scenario.profile.id.empty() ? "" : fmt::format("; stepcast show profile {}", scenario.profile.id);
  return fmt::format("rates of {}: {}{}", profile.name, fmt::join(laws, ", "), more);
}

std::string assumptions(const Page& page) {
  std::vector<std::string> parts;
  for (const Assumption& assumption : page.scenario.assumptions)
    parts.push_back(assumption.why == "default"
                        ? fmt::format("{} {}", assumption.flag, assumption.value)
                        : fmt::format("{} {} ({})", assumption.flag, assumption.value, assumption.why));
  std::string text = page.heading("Defaults and assumptions") + wrapped(parts, ", ", "  ", page_columns);
  const Profile& profile = page.scenario.profile.row;
  text += paragraph(rates_text(page.scenario), "  ", "    ", page_columns);
  const bool fitted = step_fit(page.scenario).fit.has_value();  // its remark speaks of the interval too
  if (!fitted && !profile.step_spread_source.empty())
    text += paragraph("interval: " + profile.step_spread_source, "  ", "    ", page_columns);
  if (*page.prediction.step.interval_kind != '\0')
    text += paragraph(
        fmt::format("interval: widened to that of {}", page.prediction.step.interval_kind), "  ", "    ", page_columns);
  for (const Remark& remark : page.scenario.remarks)
    if (!remark.above) text += paragraph(remark.text, "  ", "    ", page_columns);
  for (const Note& note : page.prediction.program.notes) text += paragraph(note.text, "  ", "    ", page_columns);
  for (const std::string& note : page.step.notes) text += paragraph(note, "  ", "    ", page_columns);
  return text;
}

std::string warnings(const Page& page) {
  std::string text;
  for (const std::string& warning : std::span(page.prediction.warnings).subspan(page.scenario.warnings.size()))
    text += page.paint.warm("warning: ") + paragraph(warning, "", "  ", page_columns - 9);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string text_report(const Scenario& scenario, const Prediction& prediction, const Console& console,
    const FlopsCount* count, const std::vector<StepWith>& steps) {
  const Page page{scenario, prediction, prediction.step, Paint(console), console.unicode, count, steps};
  return title(scenario, console) + parameters(scenario) + verdict(page) + readings(page) + headline(page) +
         phases(page) + stages(page) + collectives_section(page) + memory(page) + assumptions(page) + warnings(page);
}

}  // namespace stepcast::predict
