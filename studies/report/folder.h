// A forecast as a folder that can be sent to a colleague: pages that need no network, pictures, figures, the scenario
// that gives the same run again, and Markdown for a pull request.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "studies/cli/flags.h"
#include "studies/roofline/report.h"
#include "studies/run/forecast.h"
#include "studies/predict/explain.h"
#include "studies/run/request.h"
#include "studies/run/scenario.h"
#include "studies/sweep/result/result.h"
#include "studies/timeline/scene.h"

namespace stepcast::report {

/// All that its files are written from. The scene points into the prediction.
struct Dossier {
  Request request;
  std::string command;  ///< that wrote it, as a shell reads it; "" = not known
  Scenario scenario;
  Prediction prediction;
  std::optional<Explained> explained;
  /// Why there is none.
  static constexpr const char* explained_missing =
      "the sequence is cut into slices, of which each has prices of its own";
  RooflineReport roofline;
  StepScene scene;
  std::optional<SweepResult> sweep;
  std::string sweep_missing;  ///< why there is none

  Dossier() = default;
  Dossier(const Dossier&) = delete;
  Dossier& operator=(const Dossier&) = delete;
};

struct DossierChoice {
  bool sweep = true;
  int threads = 1;
  std::optional<MeasuredFile> measured;
};

/// What follows from the request and its scenario. Errors: those of the forecast. A sweep that cannot be made (a
/// mapping file) is said in sweep_missing.
Expected<void> fill_dossier(Dossier& dossier, const DossierChoice& choice);

/// The neighbours of a run: the same job on as many GPUs of the same kind, with the axes of a sweep at their usual
/// values.
Expected<SweepResult> neighbours(const Request& request, const Scenario& scenario, int threads);

/// A file of the folder. Pages come last, and index.html as the last of them: where it stands the folder is whole.
struct DossierFile {
  std::string_view name;   ///< "roofline.html"
  std::string_view about;  ///< what a reader finds there
  std::string (*text)(const Dossier& dossier);
  bool (*has)(const Dossier& dossier);  ///< null: always there
};
std::span<const DossierFile> dossier_files();

std::string index_page(const Dossier& dossier);
std::string memory_page(const Dossier& dossier);
std::string mapping_page(const Dossier& dossier);
/// Tables and pictures, the latter as files beside it.
std::string dossier_markdown(const Dossier& dossier);

/// A line of links to the folder's pages, for the top of one.
std::string dossier_links(const Dossier& dossier, std::string_view current);

}  // namespace stepcast::report
