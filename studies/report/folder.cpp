#include "studies/report/folder.h"

#include <fmt/format.h>

#include "studies/predict/json.h"
#include "studies/run/forecast.h"
#include "studies/timeline/step_timeline.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/run/scenario_file.h"
#include "studies/sweep/write/explorer.h"
#include "studies/timeline/memory_svg.h"

namespace stepcast::report {
namespace {

std::string scenario_text(const Dossier& dossier) { return write_scenario(dossier.scenario); }
std::string forecast_json(const Dossier& dossier) {
  return json_report(dossier.scenario, dossier.prediction, dossier.explained ? &*dossier.explained : nullptr);
}
std::string roofline_figures(const Dossier& dossier) { return roofline_json(dossier.roofline); }
std::string kernel_picture(const Dossier& dossier) { return standalone_svg(kernel_roofline_svg(dossier.roofline)); }
std::string network_picture(const Dossier& dossier) { return standalone_svg(network_roofline_svg(dossier.roofline)); }
std::string waterfall_picture(const Dossier& dossier) { return standalone_svg(waterfall_svg(dossier.roofline)); }
std::string dataflow_picture(const Dossier& dossier) { return standalone_svg(boundaries_svg(dossier.roofline)); }
std::string timeline_picture(const Dossier& dossier) { return timeline_svg(dossier.prediction); }
std::string memory_picture(const Dossier& dossier) { return standalone_svg(memory_svg(dossier.scene)); }

/// Pages of other commands have no links of this folder: they get them above their heading.
std::string with_links(std::string page, const Dossier& dossier, std::string_view name) {
  constexpr std::string_view body = "<body>\n";
  const std::size_t at = page.find(body);
  return at == std::string::npos ? page : page.insert(at + body.size(), dossier_links(dossier, name));
}
std::string roofline_in_folder(const Dossier& dossier) {
  return with_links(roofline_page(dossier.roofline), dossier, "roofline.html");
}
std::string timeline_in_folder(const Dossier& dossier) {
  return with_links(timeline_page(dossier.scene), dossier, "timeline.html");
}
std::string sweep_in_folder(const Dossier& dossier) {
  return with_links(explorer_page(*dossier.sweep), dossier, "sweep.html");
}

bool has_mapping(const Dossier& dossier) { return dossier.explained.has_value(); }
bool has_sweep(const Dossier& dossier) { return dossier.sweep.has_value(); }

constexpr DossierFile files_of_report[] = {
    {"scenario.json", "the run, with nothing left to assume", scenario_text, nullptr},
    {"forecast.json", "figures of the forecast, base units", forecast_json, nullptr},
    {"roofline.json", "figures of the roofline", roofline_figures, nullptr},
    {"waterfall.svg", "where the step goes", waterfall_picture, nullptr},
    {"roofline.svg", "operators under the GPU's roofs", kernel_picture, nullptr},
    {"network.svg", "collectives under the roofs of their links", network_picture, nullptr},
    {"dataflow.svg", "operators at every boundary", dataflow_picture, nullptr},
    {"timeline.svg", "the pipeline in time", timeline_picture, nullptr},
    {"memory.svg", "memory in time", memory_picture, nullptr},
    {"report.md", "for a pull request", dossier_markdown, nullptr},
    {"roofline.html", "operators, collectives, boundaries, levers", roofline_in_folder, nullptr},
    {"timeline.html", "every stream, to zoom in", timeline_in_folder, nullptr},
    {"memory.html", "by lifetime, over time, by tensor", memory_page, nullptr},
    {"mapping.html", "who splits what, every price", mapping_page, has_mapping},
    {"sweep.html", "the same job split in every usual way", sweep_in_folder, has_sweep},
    {"index.html", "the forecast, and links to all of these", index_page, nullptr}};

Expected<void> add_explanation(Dossier& dossier) {
  if (dossier.scenario.pipeline.slices > 1) return {};
  TRY(dossier.explained, explain_prediction(dossier.scenario, dossier.prediction));
  return {};
}

void add_sweep(Dossier& dossier, const DossierChoice& choice) {
  if (!choice.sweep) {
    dossier.sweep_missing = "left out by --no-sweep";
    return;
  }
  auto swept = neighbours(dossier.request, dossier.scenario, choice.threads);
  if (swept) dossier.sweep = std::move(*swept);
  else dossier.sweep_missing = swept.error().what;
}

}  // namespace

std::span<const DossierFile> dossier_files() { return files_of_report; }

Expected<void> fill_dossier(Dossier& dossier, const DossierChoice& choice) {
  TRY(dossier.prediction, run::predict(dossier.scenario, true));
  TRY(add_explanation(dossier));
  TRY(dossier.roofline, roofline_report(dossier.request, dossier.scenario, dossier.prediction, choice.measured));
  TRY(dossier.scene, step_scene(dossier.scenario, dossier.prediction));
  add_sweep(dossier, choice);
  return {};
}

}  // namespace stepcast::report
