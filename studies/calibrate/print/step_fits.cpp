#include "studies/calibrate/print/step_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/step_tuning.h"
#include "studies/print/table.h"

namespace stepcast::calibration {
namespace {

std::string held_out_cell(const StepFit& fit) {
  return fit.groups > 0 ? fmt::format("{:.1f} % ({} left out)", 100 * fit.held_out_mape, fit.left_out)
                        : "nothing left out";
}

}  // namespace

std::string step_fits_text(const Profile& profile) {
  Table table({{"software", Align::left}, {"precision", Align::left}, {"runs", Align::right}, {"fitted", Align::right},
      {"held out", Align::left}, {"80 %", Align::left}, {"parameters", Align::left}});
  for (const StepFit& fit : profile.steps)
    table.add({fit.stack + (fit.experts ? ", experts" : ""), to_text(fit.precision), fmt::format("{}", fit.runs),
        fmt::format("{:.1f} %", 100 * fit.mape), held_out_cell(fit),
        fmt::format("{:.2f} to {:.2f}", fit.spread.p10, fit.spread.p90),
        fit_text(fit) + (fitted_on(fit, profile.gpu) ? "" : fmt::format(" (of {})", fmt::join(fit.gpus, ", ")))});
  return table.empty() ? std::string() : table.text("  ");
}

void write_step_fits(JsonWriter& json, const Profile& profile) {
  json.open_list("steps");
  for (const StepFit& fit : profile.steps) {
    json.open();
    json.fields("stack", fit.stack, "precision", to_text(fit.precision), "experts", fit.experts);
    json.open("parameters");
    for (const StepValue& value : fit.values) json.field(row_of(value.parameter).id, value.value);
    json.close();
    json.fields("runs", fit.runs, "mape", fit.mape);
    if (fit.groups > 0) {
      json.fields("left_out", fit.left_out, "groups", fit.groups, "held_out_mape", fit.held_out_mape);
    }
    json.field("spread", std::vector<double>{fit.spread.p10, fit.spread.p90});
    if (fit.pairs > 0) json.field("pairs", fit.pairs), json.field("pair_spread", fit.pair_spread);
    json.fields("gpus", fit.gpus, "source", fit.source);
    json.close();
  }
  json.close();
}

}  // namespace stepcast::calibration
