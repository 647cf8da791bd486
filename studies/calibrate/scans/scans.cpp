// stepcast calibrate scans: tables of engines' scan kernels as laws of a profile, with the errors of shapes held out.
#include <fmt/format.h>

#include "calibrate/fit/fit_scan.h"
#include "calibrate/import/tables/scan_table.h"
#include "calibrate/import/timings_file.h"
#include "model/base/contains.h"
#include "model/errors/error_context.h"
#include "model/catalog.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/fit_start.h"
#include "studies/calibrate/scans/scans_report.h"
#include "studies/cli/output_file.h"

namespace stepcast::calibration {
namespace {

using calibrate::FittedScan;
using calibrate::ScanTimings;

Expected<ScanTimings> read_tables(const std::vector<std::string>& files) {
  ScanTimings all;
  for (const std::string& name : files) {
    TRY(const auto file, calibrate::TimingsFile::open(name));  // plain or packed
    if (!file.whole()) return fail(name, "is too long for a table of scans", "at most 64 MiB");
    TRY(auto read, calibrate::read_scan_table(file.head(), name));
    all.convolutions += read.convolutions, all.other_phases += read.other_phases;
    all.rows.insert(
        all.rows.end(), std::make_move_iterator(read.rows.begin()), std::make_move_iterator(read.rows.end()));
  }
  return all;
}

bool is_same_scan(const ScanLaw& a, const ScanLaw& b) { return a.function == b.function && a.kernels == b.kernels; }

/// The start with these laws in place of its own. A profile is of one GPU and has one law per function and engine.
Expected<Profile> with_scans(const std::vector<FittedScan>& fits, std::size_t rows, const Arguments& arguments) {
  const std::string& id = fits.front().gpu;
  const auto gpu = find_row(built_in().gpus, id, "gpu");
  if (!gpu) return tl::unexpected(error_at("tables", gpu.error()));
  TRY(auto profile, start_profile(arguments.value("--start"), **gpu));
  TRY(profile.id, fitted_id(arguments.value("--id"), **gpu));
  std::vector<ScanLaw> laws;
  for (const FittedScan& fit : fits) {
    if (fit.gpu != id)
      return fail("--output", fmt::format("the tables are of {} and of {}", id, fit.gpu), "those of one GPU");
    if (!contains(kernel_software(), fit.law.kernels))
      return fail("--output", fmt::format("no profile holds scans of '{:.40}'", fit.law.kernels),
          name_hint(fit.law.kernels, kernel_software()));
    for (const ScanLaw& law : laws)
      if (is_same_scan(law, fit.law))
        return fail("--output", fmt::format("two laws of {}: {} and {}", law.function, law.software, fit.law.software),
            "the table of one release, in which one kernel does the scan");
    laws.push_back(fit.law);
  }
  for (const ScanLaw& law : laws) {
    std::erase_if(profile.scans, [&](const ScanLaw& old) { return is_same_scan(old, law); });
    profile.scans.push_back(law);
  }
  profile.context =
      fmt::format("Scans fitted on {} rows of tables of kernels; all other laws are those of {}.", rows, profile.name);
  return profile;
}

}  // namespace

Expected<void> calibrate_scans(const Arguments& arguments, Console& console) {
  for (const char* flag : {"--start", "--id"})
    if (arguments.has(flag) && !arguments.has("--output"))
      return fail(flag, "is of the profile, and none is written", "-o PROFILE.json");
  TRY(const auto timings, read_tables(arguments.words));
  const auto fits = calibrate::fit_scans(timings.rows);
  if (fits.empty())
    return fail("tables",
        fmt::format(
            "no kernel has {} shapes of scans over prompts among {} rows of scans, {} of convolutions and {} of "
            "other phases",
            calibrate::fewest_scan_shapes, timings.rows.size(), timings.convolutions, timings.other_phases),
        "tables of gdn, kda or mamba2 with \"phase\": \"context\"");
  if (arguments.has("--output")) {
    TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_profile_file)));
    TRY(const auto profile, with_scans(fits, timings.rows.size(), arguments));
    TRY(const auto text, profile_text(profile));
    output.finish(text);
  }
  console.out << (arguments.has("--json") ? scans_json(fits, timings) : scans_text(fits, timings));
  return {};
}

}  // namespace stepcast::calibration
