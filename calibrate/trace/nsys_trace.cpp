#include "calibrate/trace/nsys_trace.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <sqlite3.h>

#include "calibrate/trace/trace_builder.h"

namespace stepcast::calibrate {
namespace {

constexpr double microseconds_of_tick = 1e-3;  // Nsight Systems counts nanoseconds

using NsysDatabase = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using NsysStatement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

class NsysTrace {
 public:
  NsysTrace(const std::string& path, sqlite3* database) : path_(path), database_(database) {}

  Expected<std::vector<RankTrace>> read() {
    TRY(read_tables());
    if (!tables_.contains("CUPTI_ACTIVITY_KIND_KERNEL"))
      return fail(path_, fmt::format("a database of {} tables without CUPTI_ACTIVITY_KIND_KERNEL", tables_.size()),
          "nsys export --type sqlite of a report recorded with --trace cuda");
    TRY(each("SELECT id, value FROM StringIds",
        [&](sqlite3_stmt* row) { strings_[sqlite3_column_int64(row, 0)] = text(row, 1); }));
    TRY(read_gpus());
    TRY(read_activities());
    if (built_.empty()) return fail(path_, "a report without a kernel", "a report of a range in which the GPU works");
    std::vector<RankTrace> traces = built_.finish();
    for (RankTrace& trace : traces) {
      trace.file = path_;
      trace.tool = "Nsight Systems";
      if (const auto at = gpus_.find(trace.device); at != gpus_.end()) trace.gpu = at->second;
    }
    return traces;
  }

 private:
  static std::string text(sqlite3_stmt* row, int column) {
    const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return bytes == nullptr ? std::string() : std::string(bytes);
  }

  Expected<void> each(const std::string& sql, const std::function<void(sqlite3_stmt*)>& take) {
    sqlite3_stmt* made = nullptr;
    int code = sqlite3_prepare_v2(database_, sql.c_str(), -1, &made, nullptr);
    const NsysStatement statement(made, sqlite3_finalize);
    if (code == SQLITE_OK)
      while ((code = sqlite3_step(made)) == SQLITE_ROW) take(made);
    if (code == SQLITE_DONE) return {};
    return fail(path_, fmt::format("SQLite says: {}", sqlite3_errmsg(database_)),
        "a whole export by nsys export --type sqlite");
  }

  Expected<void> read_tables() {
    return each("SELECT name FROM sqlite_master WHERE type = 'table'",
        [&](sqlite3_stmt* row) { tables_.insert(text(row, 0)); });
  }

  Expected<void> read_gpus() {
    if (!tables_.contains("TARGET_INFO_GPU")) return {};
    return each("SELECT id, name FROM TARGET_INFO_GPU",
        [&](sqlite3_stmt* row) { gpus_[sqlite3_column_int64(row, 0)] = text(row, 1); });
  }

  /// Processes count their correlations on their own.
  std::int64_t correlation(sqlite3_stmt* row, int process, int id) {
    constexpr int bits_of_id = 40;
    const auto number = static_cast<std::int64_t>(
        processes_.try_emplace(sqlite3_column_int64(row, process), processes_.size()).first->second);
    return (number << bits_of_id) + sqlite3_column_int64(row, id);
  }

  void take(sqlite3_stmt* row, const WorkKind* kind, const std::string& name) {
    DeviceEvent event{.start = static_cast<double>(sqlite3_column_int64(row, 0)) * microseconds_of_tick,
        .end = static_cast<double>(sqlite3_column_int64(row, 1)) * microseconds_of_tick,
        .correlation = correlation(row, 5, 4),
        .stream = static_cast<std::int32_t>(sqlite3_column_int64(row, 3))};
    built_.add(sqlite3_column_int64(row, 2), event, name, kind, {});
  }

  Expected<void> read_activities() {
    const std::string columns = "SELECT start, end, deviceId, streamId, correlationId, globalPid";
    TRY(each(columns + ", demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL", [&](sqlite3_stmt* row) {
      const std::string& name = strings_[sqlite3_column_int64(row, 6)];
      take(row, nullptr, name);
    }));
    constexpr WorkKind copy = WorkKind::memcpy, fill = WorkKind::memset;
    if (tables_.contains("CUPTI_ACTIVITY_KIND_MEMCPY"))
      TRY(each(columns + " FROM CUPTI_ACTIVITY_KIND_MEMCPY", [&](sqlite3_stmt* row) { take(row, &copy, "Memcpy"); }));
    if (tables_.contains("CUPTI_ACTIVITY_KIND_MEMSET"))
      TRY(each(columns + " FROM CUPTI_ACTIVITY_KIND_MEMSET", [&](sqlite3_stmt* row) { take(row, &fill, "Memset"); }));
    if (!tables_.contains("CUPTI_ACTIVITY_KIND_RUNTIME")) return {};
    // A thread's number holds its process' in all but the last 24 bits (Nsight Systems' documentation of the export).
    return each("SELECT start, end, nameId, 0, correlationId, (globalTid / 0x1000000) * 0x1000000 "
                "FROM CUPTI_ACTIVITY_KIND_RUNTIME",
        [&](sqlite3_stmt* row) {
          const double start = static_cast<double>(sqlite3_column_int64(row, 0)) * microseconds_of_tick,
                       end = static_cast<double>(sqlite3_column_int64(row, 1)) * microseconds_of_tick;
          built_.launches.push_back({correlation(row, 5, 4), start, end});
          if (end - start < shortest_host_call) return;
          if (const auto kind = host_call_of(strings_[sqlite3_column_int64(row, 2)]))
            built_.calls.push_back({*kind, start, end});
        });
  }

  const std::string& path_;
  sqlite3* database_;
  std::set<std::string> tables_;
  std::map<std::int64_t, std::string> strings_, gpus_;
  std::map<std::int64_t, std::size_t> processes_;
  TraceBuilder built_;
};

}  // namespace

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

Expected<std::vector<RankTrace>> read_nsys_database(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const NsysDatabase database(opened, sqlite3_close);
  if (code != SQLITE_OK) return fail(path, "cannot be opened as a database", "a file that is there");
  return NsysTrace(path, opened).read();
}

}  // namespace stepcast::calibrate
