// The answers of a sweep over machines of several kinds.
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/mixed/mixed_sweep.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::mixed {
namespace {

std::string counted(std::uint64_t count) { return grouped_digits(static_cast<double>(count)); }

std::string dealt_text(const MixedRow& row) {
  return fmt::format("{} {}", row.by_stage ? "layers" : "micro-batches", fmt::join(row.dealt, " + "));
}

std::string best_table(const MixedSweep& swept) {
  Table table({{"", Align::right}, {"step", Align::right}, {"10th to 90th percentile"}, {"MFU", Align::right}, {"plan"},
      {"dealt"}});
  for (std::size_t i = 0; i < swept.best.size(); ++i) {
    const MixedRow& row = swept.best[i];
    table.add({fmt::format("{}", i + 1), format_seconds(row.step),
        fmt::format("{} to {}", format_seconds(row.p10), format_seconds(row.p90)), format_percent(row.mfu), row.split,
        dealt_text(row)});
  }
  return table.text("  ");
}

std::string dismissed_text(const MixedSweep& swept) {
  std::string text;
  for (const auto& [reason, count] : swept.dismissed)
    text += paragraph(fmt::format("{}: {}", counted(count), reason), "  ", "    ", page_columns);
  for (const auto& [count, why] :
      {std::pair{swept.does_not_fit, "do not fit into memory"},
          {swept.given_up, "no deal of their layers can be among the best"}, {swept.slower, "slower than those above"}})
    if (count > 0) text += fmt::format("  {}: {}\n", counted(count), why);
  return text;
}

}  // namespace

std::string mixed_sweep_text(const MixedSweep& swept, const MixedRequest& asked, const Console& console) {
  const Paint paint(console);
  std::string text = paint.bold(to_text(asked.shares)) + "\n" +
                     paragraph(fmt::format("{} configurations, {} of them legal: forecast with layers or micro-batches "
                                           "dealt by speed, but for those of which no deal can be among the best",
                                   counted(swept.configurations), counted(swept.legal)),
                         "", "  ", page_columns);
  if (swept.best.empty()) {
    text += "\n" + paint.bad("No configuration runs") + "\n";
  } else {
    text += fmt::format("\n{}  {}\n{}", paint.bold("The fastest"), paint.dim("dealt: of each kind"), best_table(swept));
    text += fmt::format("\n{}\n  {}\n", paint.bold("The first of them in full"), swept.best.front().command);
  }
  const std::string left_out = dismissed_text(swept);
  return left_out.empty() ? text : text + fmt::format("\n{}\n{}", paint.bold("Left out"), left_out);
}

std::string mixed_sweep_json(const MixedSweep& swept, const MixedRequest& asked) {
  JsonWriter json;
  json.open();
  json.list("machines", asked.shares,
      [&](const MachineShare& share) { json.fields("machine", share.machine.row.id, "gpus", share.gpus); });
  json.fields("configurations", swept.configurations, "legal", swept.legal, "does_not_fit", swept.does_not_fit,
      "given_up", swept.given_up, "slower", swept.slower, "refused", swept.refused, "nothing_fits",
      swept.best.empty() && swept.does_not_fit > 0);
  json.list("top", swept.best, [&](const MixedRow& row) {
    json.fields("split", row.split, "command", row.command, "mfu", row.mfu, "across",
        row.by_stage ? "stages" : "replicas", row.by_stage ? "layers" : "micro_batches", row.dealt);
    json.base_field("step_time_s", row.step);
    json.field("step_time_interval_s", std::vector<double>{row.p10.value(), row.p90.value()});
  });
  json.open_list("dismissed");
  for (const auto& [reason, count] : swept.dismissed) json.row("why", reason, "configurations", count);
  json.close();
  json.close();
  return json.text();
}

}  // namespace stepcast::mixed
