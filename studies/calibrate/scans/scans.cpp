// stepcast calibrate scans: tables of engines' scan kernels, their convolutions and hyper-connections as laws of a
// profile, with the errors of shapes held out.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

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

using calibrate::ScanTimings;

Expected<ScanTimings> read_tables(const std::vector<std::string>& files) {
  ScanTimings all;
  for (const std::string& name : files) {
    TRY(const auto file, calibrate::TimingsFile::open(name));  // plain or packed
    if (!file.whole()) return fail(name, "is too long for a table of scans", "at most 64 MiB");
    TRY(auto read, calibrate::read_scan_table(file.head(), name));
    all.other_phases += read.other_phases;
    std::ranges::move(read.convolutions, std::back_inserter(all.convolutions));
    std::ranges::move(read.rows, std::back_inserter(all.rows));
    std::ranges::move(read.hyper_connections, std::back_inserter(all.hyper_connections));
  }
  return all;
}

/// Of one GPU, in place of the start's own: one law per function or part, and engine.
bool is_same_law(const ScanLaw& a, const ScanLaw& b) { return a.function == b.function && a.kernels == b.kernels; }
bool is_same_law(const HyperConnectionLaw& a, const HyperConnectionLaw& b) {
  return a.part == b.part && a.kernels == b.kernels;
}
const std::string& subject_of(const ScanLaw& law) { return law.function; }
std::string subject_of(const HyperConnectionLaw& law) { return to_text(law.part); }

template <typename Fitted, typename Law>
Expected<void> replace_laws(
    const std::vector<Fitted>& fits, const std::string& gpu, std::string_view what, std::vector<Law>& laws) {
  std::vector<Law> fitted;
  for (const Fitted& fit : fits) {
    if (fit.gpu != gpu)
      return fail("--output", fmt::format("the tables are of {} and of {}", gpu, fit.gpu), "those of one GPU");
    if (!contains(kernel_software(), fit.law.kernels))
      return fail("--output", fmt::format("no profile holds {} of '{:.40}'", what, fit.law.kernels),
          name_hint(fit.law.kernels, kernel_software()));
    for (const Law& law : fitted)
      if (is_same_law(law, fit.law))
        return fail("--output",
            fmt::format("two laws of {}: {} and {}", subject_of(law), law.software, fit.law.software),
            "the table of one release, in which one kernel does it");
    fitted.push_back(fit.law);
  }
  for (const Law& law : fitted) {
    std::erase_if(laws, [&](const Law& old) { return is_same_law(old, law); });
    laws.push_back(law);
  }
  return {};
}

Expected<Profile> with_laws(const ScanFits& fits, const Arguments& arguments) {
  const auto& convolutions = fits.convolutions.laws;
  const std::string& id = !fits.scans.empty()     ? fits.scans.front().gpu
                          : !convolutions.empty() ? convolutions.front().gpu
                                                  : fits.hyper_connections.front().gpu;
  const auto gpu = find_row(built_in().gpus, id, "gpu");
  if (!gpu) return tl::unexpected(error_at("tables", gpu.error()));
  TRY(auto profile, start_profile(arguments.value("--start"), **gpu));
  TRY(profile.id, fitted_id(arguments.value("--id"), **gpu));
  TRY(replace_laws(fits.scans, id, "scans", profile.scans));
  TRY(replace_laws(convolutions, id, "convolutions", profile.scans));
  TRY(replace_laws(fits.hyper_connections, id, "hyper-connections", profile.hyper_connections));
  std::vector<std::string_view> what;
  if (!fits.scans.empty()) what.emplace_back("scans");
  if (!convolutions.empty()) what.emplace_back("convolutions");
  if (!fits.hyper_connections.empty()) what.emplace_back("hyper-connections");
  profile.context = fmt::format("Laws of {} fitted on {} rows of tables of kernels; all other laws are those of {}.",
      fmt::join(what, " and "), fits.rows(), profile.name);
  return profile;
}

}  // namespace

Expected<void> calibrate_scans(const Arguments& arguments, Console& console) {
  for (const char* flag : {"--start", "--id"})
    if (arguments.has(flag) && !arguments.has("--output"))
      return fail(flag, "is of the profile, and none is written", "-o PROFILE.json");
  TRY(const auto timings, read_tables(arguments.words));
  ScanFits fits{calibrate::fit_scans(timings.rows), calibrate::fit_hyper_connections(timings.hyper_connections),
      calibrate::fit_convolutions(timings.convolutions), calibrate::left_out_of(timings.rows)};
  std::ranges::move(calibrate::left_out_of(timings.hyper_connections), std::back_inserter(fits.left_out));
  if (fits.scans.empty() && fits.hyper_connections.empty() && fits.convolutions.laws.empty())
    return fail("tables",
        fmt::format("no kernel has {} shapes of scans over prompts among {} rows of scans, {} of convolutions and {} "
                    "of other phases; no part of hyper-connections has {} among {} rows",
            calibrate::fewest_scan_shapes, timings.rows.size(), timings.convolutions.size(), timings.other_phases,
            calibrate::fewest_hyper_connection_shapes, timings.hyper_connections.size()),
        "tables of gdn, kda or mamba2 with \"phase\": \"context\", or of mhc_module");
  if (arguments.has("--output")) {
    TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_profile_file)));
    TRY(const auto profile, with_laws(fits, arguments));
    TRY(const auto text, profile_text(profile));
    output.finish(text);
  }
  console.out << (arguments.has("--json") ? scans_json(fits, timings) : scans_text(fits, timings));
  return {};
}

}  // namespace stepcast::calibration
