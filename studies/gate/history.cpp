#include "studies/gate/history.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace stepcast::gate {
namespace {

constexpr int our_mark = 0x73746761;  // "stga", as SQLite's application_id
constexpr int busy_ms = 10'000;       // a job beside this one may be writing

constexpr const char* tables =
    "CREATE TABLE checks (id INTEGER PRIMARY KEY, case_name TEXT NOT NULL, at TEXT NOT NULL, commit_id TEXT NOT NULL, "
    "good INTEGER NOT NULL, unit TEXT NOT NULL);"
    "CREATE INDEX checks_of_case ON checks (case_name, id);"
    "CREATE TABLE runs (check_id INTEGER NOT NULL REFERENCES checks (id), number INTEGER NOT NULL, seconds REAL NOT "
    "NULL, file TEXT NOT NULL, manifest TEXT NOT NULL, PRIMARY KEY (check_id, number))";

// clang-format off
struct FinishStatement { void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); } };
// clang-format on

/// One statement; its values are bound in order. Not ready where the database refuses it.
class GateStatement {
 public:
  GateStatement(sqlite3* db, const char* sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(db, sql, -1, &made, nullptr) == SQLITE_OK) statement_.reset(made);
  }
  void bind(const std::string& text) {
    sqlite3_bind_text(get(), ++bound_, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(std::int64_t number) { sqlite3_bind_int64(get(), ++bound_, number); }
  void bind(double number) { sqlite3_bind_double(get(), ++bound_, number); }
  int step() { return statement_ ? sqlite3_step(get()) : SQLITE_ERROR; }
  [[nodiscard]] std::string text(int column) const {
    const auto* found = reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
    return found == nullptr ? "" : found;
  }
  [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(get(), column); }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(get(), column); }

 private:
  [[nodiscard]] sqlite3_stmt* get() const { return statement_.get(); }
  std::unique_ptr<sqlite3_stmt, FinishStatement> statement_;
  int bound_ = 0;
};

std::int64_t number_in(sqlite3* db, const char* sql) {
  GateStatement statement(db, sql);
  return statement.step() == SQLITE_ROW ? statement.whole(0) : -1;
}

bool run_sql(sqlite3* db, const std::string& sql) {
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool same_check(const RecordedCheck& a, const RecordedCheck& b) {
  const auto same_run = [](const RecordedRun& x, const RecordedRun& y) {
    return x.seconds == y.seconds && x.file == y.file && x.manifest == y.manifest;
  };
  return a.commit == b.commit && a.good == b.good && a.unit == b.unit &&
         std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(), same_run);
}

}  // namespace

Expected<GateHistory> GateHistory::open(const std::string& path, bool create) {
  std::error_code unknown;
  if (!create && !std::filesystem::exists(path, unknown)) return GateHistory(path, nullptr);
  sqlite3* db = nullptr;
  const int flags = create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  GateHistory history(path, db);
  if (code != SQLITE_OK) return history.failed();
  sqlite3_busy_timeout(db, busy_ms);
  const std::int64_t made = number_in(db, "SELECT count(*) FROM sqlite_master");
  if (made < 0) return history.failed();
  if (made == 0 && create &&
      !run_sql(db, fmt::format("BEGIN IMMEDIATE; PRAGMA application_id = {}; {}; COMMIT", our_mark, tables)))
    return history.failed();
  if ((made > 0 || create) && number_in(db, "PRAGMA application_id") != our_mark)
    return fail(path, "it is a database of another program", "a file of its own for the history");
  if (made == 0 && !create) return GateHistory(path, nullptr);
  return history;
}

GateHistory::GateHistory(GateHistory&& other) noexcept
    : path_(std::move(other.path_)), db_(std::exchange(other.db_, nullptr)) {}

GateHistory::~GateHistory() { sqlite3_close(db_); }

tl::unexpected<Error> GateHistory::failed() const {
  return fail(path_, fmt::format("SQLite: {}", db_ == nullptr ? "no memory" : sqlite3_errmsg(db_)),
      "a history that stepcast gate wrote, or a file that is not there yet");
}

Expected<std::vector<RecordedCheck>> GateHistory::checks(const std::string& case_name, std::size_t most) const {
  std::vector<RecordedCheck> found;
  if (db_ == nullptr) return found;
  GateStatement rows(
      db_, "SELECT id, at, commit_id, good, unit FROM checks WHERE case_name = ? ORDER BY id DESC LIMIT ?");
  rows.bind(case_name);
  rows.bind(static_cast<std::int64_t>(most));
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    RecordedCheck check{case_name, rows.text(1), rows.text(2), rows.whole(3) != 0, rows.text(4), {}};
    GateStatement runs(db_, "SELECT seconds, file, manifest FROM runs WHERE check_id = ? ORDER BY number");
    runs.bind(rows.whole(0));
    int inner = runs.step();
    for (; inner == SQLITE_ROW; inner = runs.step()) check.runs.push_back({runs.real(0), runs.text(1), runs.text(2)});
    if (inner != SQLITE_DONE) return failed();
    const bool sound = !check.runs.empty() && std::all_of(check.runs.begin(), check.runs.end(),
                                                  [](const auto& run) { return run.seconds > 0; });
    if (!sound) return fail(path_, fmt::format("a check of {} has no times above zero", case_name), "");
    found.push_back(std::move(check));
  }
  if (code != SQLITE_DONE) return failed();
  std::reverse(found.begin(), found.end());
  return found;
}

Expected<void> GateHistory::add(const RecordedCheck& check) {
  GateStatement row(db_, "INSERT INTO checks (case_name, at, commit_id, good, unit) VALUES (?, ?, ?, ?, ?)");
  row.bind(check.case_name), row.bind(check.at), row.bind(check.commit);
  row.bind(std::int64_t{check.good}), row.bind(check.unit);
  if (row.step() != SQLITE_DONE) return failed();
  const std::int64_t id = sqlite3_last_insert_rowid(db_);
  for (std::size_t i = 0; i < check.runs.size(); ++i) {
    GateStatement run(db_, "INSERT INTO runs VALUES (?, ?, ?, ?, ?)");
    run.bind(id), run.bind(static_cast<std::int64_t>(i + 1)), run.bind(check.runs[i].seconds);
    run.bind(check.runs[i].file), run.bind(check.runs[i].manifest);
    if (run.step() != SQLITE_DONE) return failed();
  }
  return {};
}

Expected<std::size_t> GateHistory::record(const std::vector<RecordedCheck>& checks) {
  if (!run_sql(db_, "BEGIN IMMEDIATE")) return failed();
  std::size_t added = 0;
  for (const RecordedCheck& check : checks) {
    const auto last = this->checks(check.case_name, 1);
    if (last && !last->empty() && same_check(last->back(), check)) continue;
    const auto done = last ? add(check) : Expected<void>(tl::unexpected(last.error()));
    if (!done) {
      run_sql(db_, "ROLLBACK");
      return tl::unexpected(done.error());
    }
    ++added;
  }
  if (!run_sql(db_, "COMMIT")) return failed();
  return added;
}

}  // namespace stepcast::gate
