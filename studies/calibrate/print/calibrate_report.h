// Prints what `stepcast calibrate import` read and what `fit` made of it, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/fit_profile.h"
#include "model/base/json_writer.h"
#include "studies/calibrate/calibrate.h"
#include "studies/cli/console.h"
#include "studies/print/table.h"

namespace stepcast::calibration {

std::string import_report(const ImportedTimings& imported, const std::string& output, const Console& console);
std::string import_json(const ImportedTimings& imported, const std::string& output);

struct FitReport {
  const FittedProfile& fitted;
  const Profile& start;  ///< gave what was not measured
  std::string output;
  std::size_t rows = 0;            ///< measurements of the GPU
  std::vector<std::string> notes;  ///< those of the fit and of what its figures say
};
/// What a reader should know of the figures: few samples, intervals that miss, sustained tables.
std::vector<std::string> doubts_of(
    const std::vector<LawFit>& laws, const Measurements& measurements, const std::string& gpu);

/// Held-out errors; under a law of products those of training size, and of each layout where there are several.
Table error_table(const std::vector<LawFit>& laws);
/// A list "layouts" in the open object, where there are several.
void write_layouts(JsonWriter& json, const LawFit& fit);

std::string fit_report(const FitReport& report, const Console& console);
std::string fit_json(const FitReport& report);

}  // namespace stepcast::calibration
