#include "calibrate/trace/sql_trace.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <sqlite3.h>

#include "calibrate/trace/trace_builder.h"

namespace stepcast::calibrate {
namespace {

constexpr double microseconds_of_tick = 1e-3;  // both tools count nanoseconds

enum class SqlRow : std::uint8_t { kernel, copy, fill, call, range, gpu, clock };
/// What a tool keeps in a table: start, end, name, device, stream, correlation, process (which count their correlations
/// on their own). Of a GPU: number and name; of a clock: when, its frequency, the GPU.
struct SqlQuery {
  std::string_view tool, table;
  SqlRow what;
  const char* sql;
};
// A thread's number holds its process' in all but the last 24 bits, a metric's type its GPU in the last 8 (Nsight
// Systems' documentation of the export).
constexpr SqlQuery sql_queries[] = {
    {"Nsight Systems", "CUPTI_ACTIVITY_KIND_KERNEL", SqlRow::kernel,
        "SELECT start, end, value, deviceId, streamId, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL "
        "LEFT JOIN StringIds ON StringIds.id = demangledName"},
    {"Nsight Systems", "CUPTI_ACTIVITY_KIND_MEMCPY", SqlRow::copy,
        "SELECT start, end, 'Memcpy', deviceId, streamId, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMCPY"},
    {"Nsight Systems", "CUPTI_ACTIVITY_KIND_MEMSET", SqlRow::fill,
        "SELECT start, end, 'Memset', deviceId, streamId, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMSET"},
    {"Nsight Systems", "CUPTI_ACTIVITY_KIND_RUNTIME", SqlRow::call,
        "SELECT start, end, value, 0, 0, correlationId, (globalTid / 0x1000000) * 0x1000000 "
        "FROM CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN StringIds ON StringIds.id = nameId"},
    {"Nsight Systems", "NVTX_EVENTS", SqlRow::range,
        "SELECT start, end, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId "
        "WHERE end IS NOT NULL"},
    {"Nsight Systems", "TARGET_INFO_GPU", SqlRow::gpu, "SELECT id, name FROM TARGET_INFO_GPU"},
    {"Nsight Systems", "GPU_METRICS", SqlRow::clock,
        "SELECT timestamp, g.value, g.typeId & 255 FROM GPU_METRICS g JOIN TARGET_INFO_GPU_METRICS m "
        "ON m.typeId = g.typeId AND m.metricId = g.metricId WHERE metricName LIKE 'GPC Clock Freq%'"},
    {"rocprofv3", "rocpd_kernel_dispatch", SqlRow::kernel,
        "SELECT start, end, name, agent_type_index, stream_id, stack_id, pid FROM kernels"},
    {"rocprofv3", "rocpd_memory_copy", SqlRow::copy,
        "SELECT start, end, name, CASE WHEN dst_agent_type = 'GPU' THEN dst_agent_type_index "
        "ELSE src_agent_type_index END, stream_id, stack_id, pid FROM memory_copies"},
    {"rocprofv3", "rocpd_region", SqlRow::call, "SELECT start, end, name, 0, 0, stack_id, pid FROM regions"},
    {"rocprofv3", "rocpd_region", SqlRow::range, "SELECT start, end, name FROM regions"},
    {"rocprofv3", "rocpd_info_agent", SqlRow::gpu,
        "SELECT type_index, product_name FROM rocpd_info_agent WHERE type = 'GPU'"}};

using SqlDatabase = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using SqlStatement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

class SqlTrace {
 public:
  SqlTrace(const std::string& path, sqlite3* database) : path_(path), database_(database) {}

  Expected<std::vector<RankTrace>> read() {
    TRY(each("SELECT name FROM sqlite_master", [&](sqlite3_stmt* row) { tables_.insert(text(row, 0)); }));
    std::string_view tool;
    for (const SqlQuery& query : sql_queries)
      if (query.what == SqlRow::kernel && tables_.contains(query.table)) tool = query.tool;
    if (tool.empty())
      return fail(path_,
          fmt::format(
              "a database of {} tables without CUPTI_ACTIVITY_KIND_KERNEL or rocpd_kernel_dispatch", tables_.size()),
          "nsys export --type sqlite of a report recorded with --trace cuda, or rocprofv3 --kernel-trace");
    for (const SqlQuery& query : sql_queries) {
      if (query.tool != tool || !tables_.contains(query.table)) continue;
      TRY(each(query.sql, [&](sqlite3_stmt* row) { take(query.what, row); }));
    }
    if (built_.empty()) return fail(path_, "a report without a kernel", "a report of a range in which the GPU works");
    std::vector<RankTrace> traces = built_.finish();
    for (RankTrace& trace : traces) {
      trace.file = path_, trace.tool = tool;
      trace.gpu = gpus_[trace.device];
      trace.clocks = std::move(clocks_[trace.device]);
    }
    return traces;
  }

 private:
  static std::string text(sqlite3_stmt* row, int column) {
    const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return bytes == nullptr ? std::string() : std::string(bytes);
  }
  static double microseconds(sqlite3_stmt* row, int column) {
    return static_cast<double>(sqlite3_column_int64(row, column)) * microseconds_of_tick;
  }

  Expected<void> each(const char* sql, const std::function<void(sqlite3_stmt*)>& with) {
    sqlite3_stmt* made = nullptr;
    int code = sqlite3_prepare_v2(database_, sql, -1, &made, nullptr);
    const SqlStatement statement(made, sqlite3_finalize);
    if (code == SQLITE_OK)
      while ((code = sqlite3_step(made)) == SQLITE_ROW) with(made);
    if (code == SQLITE_DONE) return {};
    return fail(path_, fmt::format("SQLite says: {}", sqlite3_errmsg(database_)),
        "a whole export by nsys export --type sqlite, or a whole database of rocprofv3");
  }

  std::int64_t correlation(sqlite3_stmt* row) {
    constexpr int bits_of_id = 40;
    const auto process = static_cast<std::int64_t>(
        processes_.try_emplace(sqlite3_column_int64(row, 6), processes_.size()).first->second);
    return (process << bits_of_id) + sqlite3_column_int64(row, 5);
  }

  void take(SqlRow what, sqlite3_stmt* row) {
    constexpr WorkKind copy = WorkKind::memcpy, fill = WorkKind::memset;
    const double start = microseconds(row, 0), end = microseconds(row, 1);
    switch (what) {
      case SqlRow::kernel:
      case SqlRow::copy:
      case SqlRow::fill:
        built_.add(sqlite3_column_int64(row, 3),
            {.start = start,
                .end = end,
                .correlation = correlation(row),
                .stream = static_cast<std::int32_t>(sqlite3_column_int64(row, 4))},
            text(row, 2),
            what == SqlRow::kernel ? nullptr
            : what == SqlRow::copy ? &copy
                                   : &fill,
            {});
        break;
      case SqlRow::call:
        built_.launches.push_back({correlation(row), start, end});
        if (end - start < shortest_host_call) break;
        if (const auto kind = host_call_of(text(row, 2))) built_.calls.push_back({*kind, start, end});
        break;
      case SqlRow::range:
        if (const auto mark = host_mark_of(text(row, 2), start, end)) built_.marks.push_back(*mark);
        break;
      case SqlRow::gpu: gpus_[sqlite3_column_int64(row, 0)] = text(row, 1); break;
      case SqlRow::clock: {
        // Exports have it in MHz or in Hz; no GPU's clock is between the two.
        constexpr double most_mhz = 1e5, hertz = 1e6;
        const double value = sqlite3_column_double(row, 1);
        clocks_[sqlite3_column_int64(row, 2)].push_back({start, value > most_mhz ? value / hertz : value});
        break;
      }
    }
  }

  const std::string& path_;
  sqlite3* database_;
  std::set<std::string, std::less<>> tables_;
  std::map<std::int64_t, std::string> gpus_;
  std::map<std::int64_t, std::vector<ClockSample>> clocks_;
  std::map<std::int64_t, std::size_t> processes_;
  TraceBuilder built_;
};

}  // namespace

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

Expected<std::vector<RankTrace>> read_sql_trace(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const SqlDatabase database(opened, sqlite3_close);
  if (code != SQLITE_OK) return fail(path, "cannot be opened as a database", "a file that is there");
  return SqlTrace(path, opened).read();
}

}  // namespace stepcast::calibrate
