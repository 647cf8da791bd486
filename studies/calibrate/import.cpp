// stepcast calibrate import: other programs' results as one file of measurements.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/rows/measurement_file.h"
#include "model/errors/error_context.h"
#include "studies/calibrate/calibrate.h"
#include "studies/cli/output_file.h"
#include "studies/calibrate/print/calibrate_report.h"
#include "studies/cli/progress_line.h"

namespace stepcast::calibration {
namespace {

/// Reads a file with the options as given. If that fails, it takes the GPU that other files name, and bf16 where a
/// table names no element type, as questions do.
Expected<Measurements> import_with(
    const TimingsFile& file, const std::string& format, const ImportOptions& options, const std::string& fallback_gpu) {
  auto found = import_file(file, format, options);
  ImportOptions said = options;
  if (!found && !fallback_gpu.empty()) {
    said.context.gpu = fallback_gpu;
    found = import_file(file, format, said);
  }
  if (found || !options.precision.empty()) return found;
  said.precision = "bf16";
  TRY(auto in_bf16, import_file(file, format, said));
  in_bf16.notes.push_back(
      fmt::format("{}: no element type is named; taken as bf16, --dtype says otherwise", file.path()));
  return in_bf16;
}

/// A file that was condensed before brings its notes along.
void keep_first_of_each(std::vector<std::string>& notes) {
  std::vector<std::string> once;
  for (std::string& note : notes)
    if (std::find(once.begin(), once.end(), note) == once.end()) once.push_back(std::move(note));
  notes = std::move(once);
}

}  // namespace

Expected<ImportedTimings> import_files(std::span<const std::string> files, const std::string& format,
    const ImportOptions& options, const std::string& fallback_gpu, Console& console) {
  ImportedTimings out;
  Progress progress(console);
  for (const std::string& file : files) {
    progress.show(fmt::format("reading {}", file));
    TRY(const auto timings, TimingsFile::open(file));
    const auto found = import_with(timings, format, options, fallback_gpu);
    if (!found) return tl::unexpected(renamed_place(found.error(), "format", "--format"));
    out.files.push_back({file, found->rows.size()});
    append(out.measurements, *found);
  }
  if (out.measurements.rows.empty())
    return fail(files.front(), "no measurement in it",
        out.measurements.notes.empty() ? "a file with timings" : out.measurements.notes.front());
  progress.show("condensing");
  out.measurements = condensed(std::move(out.measurements));
  keep_first_of_each(out.measurements.notes);
  return out;
}

bool is_measurement_file(const std::string& name) { return file_holds(name, "\"stepcast_measurements\""); }

Expected<void> calibrate_import(const Arguments& arguments, Console& console) {
  TRY(const auto options, import_options(arguments));
  if (!arguments.has("--output")) return fail("--output", "is missing", "-o M.json: where the measurements go");
  TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_measurement_file)));
  TRY(const auto imported, import_files(arguments.words, arguments.value("--format"), options, "", console));
  output.finish(write_measurements(imported.measurements));
  const std::string name = arguments.value("--output");
  console.out << (arguments.has("--json") ? import_json(imported, name) : import_report(imported, name, console));
  return {};
}

}  // namespace stepcast::calibration
