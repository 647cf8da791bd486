#include "studies/compare/gap_report.h"

#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::comparison {
namespace {

std::string time_of(double seconds) { return format_seconds(Seconds(seconds)); }
std::string signed_time(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(Seconds(std::abs(seconds)));
}
std::string family_text(const GapRow& row) {
  return row.family == SplitFamily::exposed ? "exposed " + row.name : row.name;
}
std::string calls_text(const GapRow& row) {
  if (row.family == SplitFamily::idle) return "";
  if (row.expected_calls == row.measured_calls) return fmt::format("{}", row.measured_calls);
  return fmt::format("{} for {}", row.measured_calls, row.expected_calls);
}

std::string rows_table(const Gap& gap, bool forecast) {
  Table table({{""}, {forecast ? "forecast" : "first", Align::right}, {"measured", Align::right},
      {"difference", Align::right}, {"of the gap", Align::right}, {"calls", Align::right}, {"interval"}});
  const auto share = [&](double difference) {
    const double all = gap.difference();
    return all == 0 ? std::string("-") : fmt::format("{:.0f} %", 100 * difference / all);
  };
  const auto add = [&](const GapRow& row, const std::string& name) {
    table.add({name, time_of(row.expected), time_of(row.measured), signed_time(row.difference()),
        share(row.difference()), calls_text(row),
        !forecast || !row.has_interval() ? ""
        : row.inside()                   ? "inside"
                                         : "outside"});
  };
  const double least = 0.0005 * std::max(gap.expected, gap.measured);
  for (const GapRow& row : gap.rows) {
    add(row, family_text(row));
    constexpr std::size_t most_parts = 6;
    std::size_t shown = 0;
    for (const GapRow& part : row.parts)
      if (row.parts.size() > 1 && std::abs(part.difference()) >= least && shown++ < most_parts)
        add(part, "  " + part.name.substr(0, 48));
  }
  table.add({"all", time_of(gap.expected), time_of(gap.measured), signed_time(gap.difference()),
      share(gap.difference()), "", ""});
  return table.text("  ");
}

void write_row(JsonWriter& json, const GapRow& row) {
  json.fields("name", family_text(row), "expected_s", row.expected, "measured_s", row.measured, "difference_s",
      row.difference(), "expected_calls", row.expected_calls, "measured_calls", row.measured_calls,
      "expected_in_flight_s", row.expected_flight, "measured_in_flight_s", row.measured_flight);
  if (row.has_interval()) {
    json.field("interval_s", std::vector<double>{row.low, row.high});
    json.field("inside", row.inside());
  }
}

}  // namespace

std::string gap_text(const Beside& beside, const Console& console) {
  const Paint paint(console);
  const Gap& gap = beside.gap;
  const bool forecast = beside.p90_s > beside.p10_s;
  std::string text = fmt::format("{}  {} beside {}: {} measured, {} expected, {} ({:+.1f} %)\n",
      paint.bold(beside.what), beside.measured, beside.expected, time_of(gap.measured), time_of(gap.expected),
      signed_time(gap.difference()), 100 * gap.difference() / gap.expected);
  if (forecast)
    text += fmt::format("  {} the forecast's interval of {} to {} (10th to 90th percentile)\n",
        gap.measured >= beside.p10_s && gap.measured <= beside.p90_s ? "inside" : "outside", time_of(beside.p10_s),
        time_of(beside.p90_s));
  for (const std::string& note : beside.notes) text += "  " + note + "\n";
  text += "\n" + rows_table(gap, forecast);
  text += fmt::format("\n{}\n", paint.bold("Causes"));
  if (beside.causes.empty()) text += "  none: no difference of a thousandth of the step\n";
  for (const GapCause& cause : beside.causes) {
    text += fmt::format("  {}  {} ({}){}\n", signed_time(cause.seconds), paint.bold(to_text(cause.kind, cause.seconds)),
        cause.subject, cause.outside ? "" : ", inside the interval");
    text += fmt::format("    {}\n", cause.evidence);
    if (cause.seconds > 0) text += fmt::format("    {}\n", cause.lever);
  }
  if (beside.ranks.size() > 1) {
    text +=
        fmt::format("\n{}  durations over what is expected: the least of all kernels; products; memory-bound ones\n",
            paint.bold("Ranks"));
    for (const RankPace& rank : beside.ranks)
      text += fmt::format("  {}  {:.3f}  {:.3f}  {:.3f}{}\n", rank.rank, rank.pace, rank.products, rank.memory,
          rank.clock_mhz > 0 ? fmt::format("  at {:.0f} MHz", rank.clock_mhz) : "");
  }
  return text;
}

void write_gap(JsonWriter& json, const Beside& beside) {
  const Gap& gap = beside.gap;
  json.fields("measured", beside.measured, "expected", beside.expected, "measured_s", gap.measured, "expected_s",
      gap.expected, "difference_s", gap.difference());
  if (beside.p90_s > beside.p10_s) json.field("interval_s", std::vector<double>{beside.p10_s, beside.p90_s});
  json.field("notes", beside.notes);
  json.list("rows", gap.rows, [&](const GapRow& row) {
    write_row(json, row);
    json.list("parts", row.parts, [&](const GapRow& part) { write_row(json, part); });
  });
  json.list("causes", beside.causes, [&](const GapCause& cause) {
    json.fields("cause", to_text(cause.kind, cause.seconds), "subject", cause.subject, "seconds_s", cause.seconds,
        "evidence", cause.evidence, "lever", cause.lever, "outside_interval", cause.outside);
  });
  json.list("ranks", beside.ranks, [&](const RankPace& rank) {
    json.fields("rank", rank.rank, "pace", rank.pace, "pace_of_products", rank.products, "pace_of_memory", rank.memory);
    if (rank.clock_mhz > 0) json.field("clock_hz", rank.clock_mhz * 1e6);
  });
}

}  // namespace stepcast::comparison
