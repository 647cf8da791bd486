#include "calibrate/trace/trace_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "calibrate/trace/csv_trace.h"
#include "calibrate/trace/kineto_trace.h"
#include "calibrate/trace/perfetto_reader.h"
#include "calibrate/trace/sql_trace.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
/// Files that people have beside those that are read, and what makes one of them that is.
struct ForeignTrace { std::string_view begin, what, hint; };
constexpr ForeignTrace foreign_traces[] = {
    {"\x28\xB5\x2F\xFD", "a file packed by zstd", "unzstd FILE first"},
    {"PK\x03\x04", "a zip archive", "unpack it first"},
    {"NSRP", "a report of Nsight Systems", "nsys export --type sqlite FILE"},
    {"\x7FNVR", "a report of Nsight Compute", "a trace of the whole step: torch.profiler or nsys"},
    {"NVR", "a report of Nsight Compute", "a trace of the whole step: torch.profiler or nsys"},
    {"<", "a page or XML", "the JSON of torch.profiler, or nsys export --type sqlite"}};
// clang-format on

Expected<std::string> head_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail(path, "is a folder", "name the files in it");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(path, fmt::format("cannot be read: {}", std::strerror(errno)), "a file that is there and may be read");
  std::array<char, 64> bytes{};
  file.read(bytes.data(), bytes.size());
  if (file.gcount() == 0) return fail(path, "is empty", "a trace of torch.profiler or Nsight Systems");
  return std::string(bytes.data(), static_cast<std::size_t>(file.gcount()));
}

}  // namespace

Expected<std::vector<RankTrace>> read_trace_file(const std::string& path) {
  TRY(const auto head, head_of(path));
  if (is_sqlite(head)) return read_sql_trace(path);
  const bool text = head.find_first_of("{[") != std::string::npos && head.find('\0') == std::string::npos;
  for (const ForeignTrace& row : foreign_traces)
    if (!text && head.starts_with(row.begin)) return fail(path, fmt::format("is {}", row.what), std::string(row.hint));
  TRY(const auto file, TimingsFile::open(path));
  TRY(const auto stream, file.stream());
  if (is_trace_table(file.head())) return read_trace_table(*stream);
  return is_perfetto(file.head()) ? read_perfetto_trace(*stream) : read_kineto_trace(*stream);
}

}  // namespace stepcast::calibrate
