// stepcast calibrate fit: measurements of one GPU as its profile, with the errors of what was held out.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/fit/fit_profile.h"
#include "calibrate/rows/device_name.h"
#include "model/errors/error_context.h"
#include "model/catalog.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/fit_start.h"
#include "studies/cli/output_file.h"
#include "studies/calibrate/print/calibrate_report.h"
#include "studies/cli/progress_line.h"

namespace stepcast::calibration {
namespace {

/// Two folds hold out half each; more than fifty only cost time.
constexpr double most_held_out = 0.5, least_held_out = 0.02;

Expected<double> hold_out_share(const Arguments& arguments) {
  if (!arguments.has("--hold-out")) return RefineOptions{}.hold_out;
  TRY(const auto share, parse_fraction(arguments.value("--hold-out"), "--hold-out", 1));
  if (share < least_held_out || share > most_held_out)
    return fail("--hold-out", fmt::format("{} is out of range", share),
        fmt::format("a share from {} to {}: each part is forecast by the rest", least_held_out, most_held_out));
  return share;
}

std::map<std::string, std::size_t> rows_per_gpu(const Measurements& measurements) {
  std::map<std::string, std::size_t> rows;
  for (const Measurement& row : measurements.rows)
    ++rows[measurements.contexts.at(static_cast<std::size_t>(row.context)).gpu];
  return rows;
}

/// The one that --gpu names, else the one that all measurements are of. Those that name none are of that one.
Expected<const Gpu*> gpu_of(Measurements& measurements, const std::string& said) {
  for (MeasurementContext& context : measurements.contexts) {
    if (!context.gpu.empty()) continue;
    context.gpu = said;
    TRY(check_device(context.device, said, context.source));
  }
  std::string id = said;
  if (id.empty()) {
    const auto rows = rows_per_gpu(measurements);
    if (rows.begin()->first.empty()) return fail("--gpu", "some measurements name no GPU", "say which: --gpu h100-sxm");
    std::vector<std::string> all;
    for (const auto& [gpu, count] : rows) all.push_back(fmt::format("{} ({} rows)", gpu, count));
    if (rows.size() > 1)
      return fail("--gpu", "the measurements are of several GPUs", fmt::format("say which: {}", fmt::join(all, ", ")));
    id = rows.begin()->first;
  }
  const auto gpu = find_row(built_in().gpus, id, "gpu");
  if (!gpu) return tl::unexpected(error_at("--gpu", gpu.error()));
  return *gpu;
}

}  // namespace

bool is_profile_file(const std::string& name) {
  return file_holds(name, "\"id\": ") && file_holds(name, "\"gpu\": ") && file_holds(name, "\"context\": ");
}

Expected<std::string> profile_text(const Profile& profile) {
  std::string text = write_profile(profile);
  const auto read = read_profile(text, "the fit's profile");
  if (read) return text;
  return fail("measurements", "they give a profile that no forecast would take: " + to_text(read.error()),
      "look for rows with a wrong unit or a wrong shape");
}

Expected<void> calibrate_fit(const Arguments& arguments, Console& console) {
  TRY(auto options, import_options(arguments));
  TRY(const auto share, hold_out_share(arguments));
  if (!arguments.has("--output")) return fail("--output", "is missing", "-o PROFILE.json: where the profile goes");
  TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_profile_file)));
  const std::string said = std::exchange(options.context.gpu, "");
  TRY(auto imported, import_files(arguments.words, arguments.value("--format"), options, said, console));
  Measurements& measurements = imported.measurements;
  TRY(const auto gpu, gpu_of(measurements, said));
  TRY(const auto id, fitted_id(arguments.value("--id"), *gpu));
  TRY(auto start, start_profile(arguments.value("--start"), *gpu));

  std::size_t rows = rows_per_gpu(measurements)[gpu->id];
  Progress progress(console);
  progress.show(fmt::format("fitting {} measurements", rows));
  FitRequest request{id, fmt::format("{}, measured", gpu->name), *gpu, start, {}, false};
  request.options.hold_out = share;
  request.keep_laws = arguments.has("--keep-laws");
  TRY(auto fitted, fit_profile(measurements, request));
  describe_fit(fitted, start, rows);
  TRY(const auto text, profile_text(fitted.profile));
  output.finish(text);

  FitReport report{fitted, start, arguments.value("--output"), rows, measurements.notes};
  for (std::vector<std::string> notes : {fitted.notes, doubts_of(fitted.laws, measurements, gpu->id)})
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  console.out << (arguments.has("--json") ? fit_json(report) : fit_report(report, console));
  return {};
}

}  // namespace stepcast::calibration
