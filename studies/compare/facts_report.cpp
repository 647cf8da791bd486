#include "studies/compare/facts_report.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/compare/clocks.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::comparison {
namespace {

constexpr std::size_t most_listed = 8;

std::string percent_of(double part, double all) { return all > 0 ? fmt::format("{:.1f} %", 100 * part / all) : "-"; }

/// " (15 prompts of 15360 positions, 3 tokens decoded)".
std::string rows_text(const IterationRows& rows) {
  if (!rows.known()) return "";
  std::vector<std::string> parts;
  if (rows.prompts > 0)
    parts.push_back(fmt::format("{} prompt{}{}", rows.prompts, rows.prompts == 1 ? "" : "s",
        rows.prompt_positions > 0 ? fmt::format(" of {} positions", rows.prompt_positions) : ""));
  if (rows.words > 0) parts.push_back(fmt::format("{} token{} decoded", rows.words, rows.words == 1 ? "" : "s"));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string steps_text(const FoundSteps& steps) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(steps.steps.size(), most_listed); ++i) {
    const FoundStep& step = steps.steps[i];
    shown.push_back(
        fmt::format("{}{} {}{}", step.number, rows_text(step.rows), format_seconds(Seconds(step.duration() * 1e-6)),
            step.outlier                                                   ? " (outlier)"
            : static_cast<int>(i) == steps.taken && steps.steps.size() > 1 ? " (taken)"
                                                                           : ""));
  }
  if (steps.steps.size() > most_listed) shown.push_back("...");
  return fmt::format(
      "{} step{} by {}: {}", steps.steps.size(), steps.steps.size() == 1 ? "" : "s", steps.how, fmt::join(shown, ", "));
}

std::string times_table(const TraceFacts& facts) {
  Table table({{""}, {"time", Align::right}, {"of the span", Align::right}, {""}});
  const auto row = [&](const char* name, double seconds, const std::string& note) {
    table.add({name, format_seconds(Seconds(seconds)), percent_of(seconds, facts.span), note});
  };
  row("span", facts.span, fmt::format("{} events", facts.events));
  row("busy", facts.busy, "");
  row("compute", facts.compute, "");
  row("communication", facts.communication, "");
  row("  exposed", facts.exposed, "nothing computes beside it");
  row("copies and fills", facts.copies, "");
  row("idle", facts.idle, "");
  if (facts.host_late > 0) row("  host late", facts.host_late, "the next kernel was launched after the GPU ran dry");
  if (facts.queued > 0) row("  queued", facts.queued, "the next kernel was launched before");
  if (facts.unknown > 0) row("  unknown", facts.unknown, "the recording has no launch of the next kernel");
  return table.text("  ");
}

std::string kinds_table(const TraceFacts& facts) {
  Table table({{"work"}, {"calls", Align::right}, {"sum", Align::right}, {"of the span", Align::right}});
  std::vector<std::pair<double, int>> order;
  for (int kind = 0; kind < work_kinds; ++kind)
    if (const KindSum& sum = facts.kinds[static_cast<std::size_t>(kind)]; sum.calls > 0)
      order.emplace_back(sum.seconds, kind);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [seconds, kind] : order)
    table.add(
        {to_text(static_cast<WorkKind>(kind)), fmt::format("{}", facts.kinds[static_cast<std::size_t>(kind)].calls),
            format_seconds(Seconds(seconds)), percent_of(seconds, facts.span)});
  return table.text("  ");
}

std::string collectives_table(const TraceFacts& facts) {
  Table table({{"collective"}, {"group", Align::right}, {"calls", Align::right}, {"sum", Align::right},
      {"shortest", Align::right}, {"longest", Align::right}, {"bytes of a call", Align::right}});
  for (const CollectiveSum& one : facts.collectives)
    table.add({one.kind, one.group > 0 ? fmt::format("{}", one.group) : "-", fmt::format("{}", one.calls),
        format_seconds(Seconds(one.seconds)), format_seconds(Seconds(one.shortest)),
        format_seconds(Seconds(one.longest)),
        one.bytes > 0 ? format_bytes_decimal(Bytes(one.bytes / static_cast<double>(one.calls))) : "-"});
  return table.text("  ");
}

std::string unplaced_text(const TraceFacts& facts) {
  if (facts.unplaced.empty()) return "";
  std::vector<std::pair<double, std::string>> longest;
  for (const auto& [name, sum] : facts.unplaced) longest.emplace_back(sum.seconds, name);
  std::sort(longest.begin(), longest.end(), std::greater{});
  std::string text = fmt::format("  unplaced: {:.2f} % of the kernels' time\n", 100 * facts.unplaced_share());
  constexpr std::size_t widest = 80, most = 3;
  for (std::size_t i = 0; i < std::min(most, longest.size()); ++i)
    text += fmt::format("    {}  {}\n", format_seconds(Seconds(longest[i].first)), longest[i].second.substr(0, widest));
  return text;
}

void write_one(JsonWriter& json, const TraceFacts& facts) {
  json.fields("events", facts.events, "span_s", facts.span, "busy_s", facts.busy, "idle_s", facts.idle, "compute_s",
      facts.compute, "communication_s", facts.communication, "exposed_communication_s", facts.exposed, "copies_s",
      facts.copies, "host_late_s", facts.host_late, "queued_s", facts.queued, "unknown_launch_s", facts.unknown,
      "unplaced_share", facts.unplaced_share());
  json.open("work");
  for (int kind = 0; kind < work_kinds; ++kind) {
    const KindSum& sum = facts.kinds[static_cast<std::size_t>(kind)];
    if (sum.calls > 0) json.object(to_text(static_cast<WorkKind>(kind)), "calls", sum.calls, "sum_s", sum.seconds);
  }
  json.close();
  json.list("collectives", facts.collectives, [&](const CollectiveSum& one) {
    json.fields("kind", one.kind, "group_size", one.group, "calls", one.calls, "sum_s", one.seconds, "shortest_s",
        one.shortest, "longest_s", one.longest, "bytes", one.bytes);
  });
}

}  // namespace

std::string rank_text(const RankTrace& trace) {
  const std::string_view file = std::string_view(trace.file).substr(trace.file.rfind('/') + 1);
  if (trace.is_forecast()) return fmt::format("stage {} of {}", trace.rank, file);
  if (trace.rank >= 0) return fmt::format("rank {} of {}", trace.rank, trace.world);
  return fmt::format("device {} of {}", trace.device, file);
}

std::string facts_text(const std::vector<ReadTrace>& traces, const Console& console) {
  const Paint paint(console);
  std::string text;
  for (const ReadTrace& one : traces) {
    const TraceFacts facts = facts_of(one.trace, one.steps, one.steps.taken);
    text += fmt::format("{}{}{}, {}, by {}\n", text.empty() ? "" : "\n", paint.bold(rank_text(one.trace)),
        one.trace.gpu.empty() ? "" : ", " + one.trace.gpu, one.trace.file, one.trace.tool);
    text += "  " + steps_text(one.steps) + "\n";
    if (one.steps.outside > 0)
      text += fmt::format("  {} events belong to no step{}\n", one.steps.outside,
          one.steps.started_in.empty() ? "" : ": those without a launch were launched before the recording");
    for (const std::string& line : {clock_text(one.trace, one.steps), clock_drift_text(one.trace, one.steps)})
      if (!line.empty()) text += "  " + line + "\n";
    text += "\n" + times_table(facts) + "\n" + kinds_table(facts);
    if (!facts.collectives.empty()) text += "\n" + collectives_table(facts);
    text += unplaced_text(facts);
  }
  return text;
}

void write_facts(JsonWriter& json, const std::vector<ReadTrace>& traces) {
  json.list("traces", traces, [&](const ReadTrace& one) {
    json.fields("file", one.trace.file, "tool", one.trace.tool, "rank", one.trace.rank, "world_size", one.trace.world,
        "device", one.trace.device, "gpu", one.trace.gpu, "steps_by", one.steps.how, "events_outside_steps",
        one.steps.outside);
    if (const double mhz = clock_of(one.trace, one.steps); mhz > 0) json.field("clock_hz", mhz * 1e6);
    if (const double mhz = replaced_clock_of(one.trace, one.steps); mhz > 0) json.field("replaced_clock_hz", mhz * 1e6);
    if (const std::string drift = clock_drift_text(one.trace, one.steps); !drift.empty()) json.field("clocks", drift);
    json.open("whole");
    write_one(json, facts_of(one.trace, one.steps, -1));
    json.close();
    json.field("taken", one.steps.steps[static_cast<std::size_t>(one.steps.taken)].number);
    json.open_list("steps");
    for (std::size_t i = 0; i < one.steps.steps.size(); ++i) {
      const FoundStep& step = one.steps.steps[i];
      json.open();
      json.fields("step", step.number, "duration_s", step.duration() * 1e-6, "outlier", step.outlier);
      if (step.product_rows > 0) json.field("product_rows", step.product_rows);
      if (step.rows.known())
        json.object("rows", "prompts", step.rows.prompts, "prompt_positions", step.rows.prompt_positions, "words",
            step.rows.words);
      write_one(json, facts_of(one.trace, one.steps, static_cast<int>(i)));
      if (std::ranges::find(one.steps.started_in, static_cast<std::int32_t>(i)) != one.steps.started_in.end()) {
        json.open("with_kernels_without_launch");
        write_one(json, facts_of(one.trace, one.steps, static_cast<int>(i), WithoutLaunch::by_start));
        json.close();
      }
      json.close();
    }
    json.close();
  });
}

}  // namespace stepcast::comparison
