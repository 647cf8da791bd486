#include "studies/predict/explain.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/notation/mapping_text.h"
#include "studies/run/forecast.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::predict {
namespace {

std::string kernels_text(const std::vector<PriceRow>& rows, const Paint& paint) {
  Table table({{"block"}, {"kernel"}, {"pass"}, {"shape"}, {"FLOPs", Align::right}, {"memory", Align::right},
      {"time", Align::right}, {"interval", Align::right}, {"source"}, {"law"}});
  for (const PriceRow& row : rows)
    table.add({row.block, row.label, row.pass, row.shape, row.flops > Flops(0) ? format_flops(row.flops) : "-",
        format_bytes_decimal(row.bytes), format_seconds(row.time), spread_text(row.spread), to_text(row.source),
        row.law});
  return notation::explained_heading(paint, "Kernels", "one micro-batch of one layer, on one GPU") + table.text("  ");
}

std::string moves_text(const std::vector<PriceRow>& rows, const Paint& paint) {
  Table table({{"block"}, {"move"}, {"pass"}, {"group"}, {"received", Align::right}, {"time", Align::right},
      {"interval", Align::right}, {"source"}, {"law"}, {"because"}});
  for (const PriceRow& row : rows)
    table.add({row.block, row.label, row.pass, row.shape, format_bytes_decimal(row.bytes), format_seconds(row.time),
        spread_text(row.spread), to_text(row.source), row.law, row.because});
  return notation::explained_heading(paint, "Moves", "one call on one GPU, alone on its fabric") + table.text("  ");
}

/// The moves again as they lie in the step: beside work, or in its way.
std::string exposure_text(const StepReport& step, const Paint& paint) {
  Table table({{"collective"}, {"stage", Align::right}, {"kind"}, {"axis"}, {"GPUs", Align::right},
      {"calls", Align::right}, {"time", Align::right}, {"exposed", Align::right}});
  for (const CollectiveReport& one : step.collectives)
    table.add({one.name, fmt::format("{}", one.stage), one.kind, one.axis, fmt::format("{}", one.group_size),
        fmt::format("{:.0f}", one.count), format_seconds(one.time), format_seconds(one.exposed)});
  const std::string beside =
      fmt::format("summed over the step; stage {} is the slowest, rows of others are theirs alone", step.slowest_stage);
  return notation::explained_heading(paint, "Collectives in the step", beside.c_str()) + table.text("  ");
}

void write_prices(JsonWriter& json, const char* key, const std::vector<PriceRow>& rows) {
  json.open_list(key);
  for (const PriceRow& row : rows) {
    json.open();
    json.fields("block", row.block, "label", row.label, "pass", row.pass, "shape", row.shape, "flops",
        row.flops.value(), "bytes", row.bytes.value());
    json.base_field("time_s", row.time);
    json.fields(
        "interval", std::vector<double>{row.spread.p10, row.spread.p90}, "source", to_text(row.source), "law", row.law);
    if (!row.because.empty()) json.field("because", row.because);
    json.close();
  }
  json.close();
}

}  // namespace

std::string spread_text(const Spread& spread) {
  if (spread.p10 == 1 && spread.p90 == 1) return "-";
  return fmt::format("{:+.0f} % {:+.0f} %", 100 * (spread.p10 - 1), 100 * (spread.p90 - 1));
}

Expected<Explained> explain_prediction(const Scenario& scenario, const Prediction& prediction) {
  TRY(auto mapping, explain(scenario.network.row, scenario.plan, scenario.stack.row));
  const CostModel cost = cost_model(scenario);
  return Explained{std::move(mapping), kernel_prices(prediction.program, cost), move_prices(prediction.program, cost)};
}

std::string explain_text(const Explained& explained, const Prediction& prediction, const Console& console) {
  const Paint paint(console);
  return notation::mapping_text(explained.mapping, paint) + kernels_text(explained.kernels, paint) +
         moves_text(explained.moves, paint) + exposure_text(prediction.step, paint);
}

void write_explanation(JsonWriter& json, const Explained& explained) {
  json.open("explanation");
  notation::write_mapping(json, explained.mapping);
  write_prices(json, "kernels", explained.kernels);
  write_prices(json, "moves", explained.moves);
  json.close();
}

}  // namespace stepcast::predict
