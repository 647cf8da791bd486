// stepcast calibrate turns other programs' timings into a profile with its errors. Each of its verbs is a row with the
// flags that it takes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/importer.h"
#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

Expected<void> calibrate_command(const Arguments& arguments, Console& console);
Expected<void> calibrate_import(const Arguments& arguments, Console& console);
Expected<void> calibrate_fit(const Arguments& arguments, Console& console);
Expected<void> calibrate_measure(const Arguments& arguments, Console& console);
Expected<void> calibrate_show(const Arguments& arguments, Console& console);
Expected<void> calibrate_engines(const Arguments& arguments, Console& console);
Expected<void> calibrate_served(const Arguments& arguments, Console& console);
Expected<void> calibrate_compare(const Arguments& arguments, Console& console);
Expected<void> calibrate_layers(const Arguments& arguments, Console& console);
Expected<void> calibrate_scans(const Arguments& arguments, Console& console);
Expected<void> calibrate_runs(const Arguments& arguments, Console& console);

/// All flags of all words; calibrate_command() refuses those of another word.
std::span<const Flag> calibrate_flags();
/// The flags with which a user says what files leave open: --gpu, --dtype, --columns, ...
std::span<const Flag> context_flags();

/// What those flags say.
Expected<ImportOptions> import_options(const Arguments& arguments);

struct ImportedFile {
  std::string file;
  std::size_t rows = 0;
};
struct ImportedTimings {
  Measurements measurements;  ///< of all files, condensed
  std::vector<ImportedFile> files;
};
/// Every file by --format or the format that recognises it. A table that names no element type is read as bf16, with a
/// note. `fallback_gpu` is that of files that name none; options.context.gpu instead has to be that of every row.
Expected<ImportedTimings> import_files(std::span<const std::string> files, const std::string& format,
    const ImportOptions& options, const std::string& fallback_gpu, Console& console);

/// Is the file at the name one that import or measure wrote, or a profile?
bool is_measurement_file(const std::string& name);
bool is_profile_file(const std::string& name);
/// The profile as a file. Errors: one that would be refused when it is read, which must never be written.
Expected<std::string> profile_text(const Profile& profile);

/// What a kernel or collective is called in reports: "gemm bf16", "attention decode", "norm", "all_reduce".
std::string query_name(const Query& query);

}  // namespace stepcast::calibration
