// Other programs' result files in, measurements out. A format is a row in a table: its name, what its files look like,
// and its reader. Readers take any text without crashing, and refuse what they cannot place with file and line; what
// they leave out or doubt is in the notes, never lost.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/import/timings_file.h"
#include "calibrate/rows/measurement.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// What the files do not say and the user does. Values in a file that contradict it are an error.
struct ImportOptions {
  MeasurementContext context;                  ///< fields that are set fill those that the file leaves open
  std::map<std::string, std::string> columns;  ///< our column -> the file's: {"time_us": "latency"}
  /// "gemm", "attention", "moe", an op of memory_ops(), a collective; "" = as found
  std::string kind;
  std::string precision;  ///< of rows that do not say: "bf16", "fp8-block"; "" = as found
  /// rows whose column has this value: {"collection": "h100_sxm_trtllm_1.3.0rc20"}
  std::map<std::string, std::string> only;
  std::int64_t ranks = 0, nodes = 0;  ///< of collectives in logs; 0 = as found
};

/// How sure a format is that a text is its own: 0 = no. The surest reads.
using RecogniseFormat = int(std::string_view text, const std::string& name);
using ReadFormat = Expected<Measurements>(
    std::string_view text, const std::string& where, const ImportOptions& options);

/// The same of what is too long to be held as one text.
using StreamFormat = Expected<Measurements>(TimingsStream& stream, const ImportOptions& options);

struct ImportFormat {
  std::string_view id, about;  ///< "nccl-tests", one line for the help
  RecogniseFormat* recognise;
  ReadFormat* read;
  StreamFormat* stream = nullptr;
};
std::span<const ImportFormat> import_formats();

/// Reads by `format` or, where that is "", by the format that recognises the text. The error lists the formats.
Expected<Measurements> import_text(
    std::string_view text, const std::string& where, const std::string& format, const ImportOptions& options);

/// The same of a file, packed or not, however long where the format has a stream.
Expected<Measurements> import_file(const TimingsFile& file, const std::string& format, const ImportOptions& options);

// --- rows of the table ---

/// nccl-tests' text (nccl/import_nccl_tests.cpp) and its JSON (nccl/import_nccl_json.cpp).
RecogniseFormat recognise_nccl_tests, recognise_nccl_json;
ReadFormat read_nccl_tests, read_nccl_json;
/// Tables with a header line (tables/import_table.cpp): known exports by their columns, others by
/// ImportOptions::columns.
RecogniseFormat recognise_table;
ReadFormat read_table;
/// nvbench (tables/import_nvbench.cpp) and Google Benchmark JSON (tables/import_google_benchmark.cpp).
RecogniseFormat recognise_nvbench, recognise_google_benchmark;
ReadFormat read_nvbench, read_google_benchmark;
/// Kernel summaries of Nsight Systems (profilers/import_nsys.cpp) and traces of PyTorch's Kineto
/// (profilers/import_kineto.cpp).
RecogniseFormat recognise_nsys, recognise_kineto;
ReadFormat read_nsys, read_kineto;
StreamFormat stream_kineto;
/// stepcast's own file, so that one command joins files.
RecogniseFormat recognise_measurements;
ReadFormat read_own_measurements;

/// Rows of the same query and context become one with their median; notes say how many, and name rows that lie a factor
/// of 2 beside a smooth neighbourhood (outliers) and tables that repeat another's times exactly (copies).
Measurements condensed(Measurements measurements);

}  // namespace stepcast::calibrate
