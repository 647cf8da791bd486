// The table of a sweep's rows as a database, made in memory (sqlite3_serialize) so that it is written like every other
// file.
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>

#include "studies/sweep/write/exports.h"
#include "studies/run/forecast.h"

namespace stepcast::sweep {
namespace {

/// One database in memory. After an error, which it keeps, all further work does nothing.
class MemoryDatabase {
 public:
  MemoryDatabase() {
    sqlite3* opened = nullptr;
    check(sqlite3_open(":memory:", &opened));
    db_.reset(opened);
  }
  void run(const std::string& sql) {
    if (error_.empty()) check(sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  /// Of "INSERT ... VALUES (?, ?)"; the values follow by bind(), in order, then insert().
  void prepare(const std::string& sql) {
    if (!error_.empty()) return;
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &made, nullptr));
    insert_.reset(made);
  }
  void bind(std::string_view text) {
    if (error_.empty())
      check(sqlite3_bind_text(insert_.get(), ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  void bind(std::uint64_t value) {
    if (error_.empty()) check(sqlite3_bind_int64(insert_.get(), ++bound_, static_cast<sqlite3_int64>(value)));
  }
  /// SQLite has no number that is none: NULL.
  void bind(double value) {
    ++bound_;
    if (error_.empty() && std::isfinite(value)) check(sqlite3_bind_double(insert_.get(), bound_, value));
  }
  void insert() {
    if (!error_.empty()) return;
    if (sqlite3_step(insert_.get()) != SQLITE_DONE) check(sqlite3_errcode(db_.get()));
    sqlite3_reset(insert_.get());
    sqlite3_clear_bindings(insert_.get());
    bound_ = 0;
  }
  Expected<std::string> bytes() {
    insert_.reset();
    if (!error_.empty()) return fail("SQLite", error_, "another format: csv or jsonl");
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, Free> all(sqlite3_serialize(db_.get(), "main", &size, 0));
    if (!all) return fail("SQLite", "no memory for the database", "fewer rows, or another format: csv or jsonl");
    return std::string(reinterpret_cast<const char*>(all.get()), static_cast<std::size_t>(size));
  }

 private:
  // clang-format off
  struct Close { void operator()(sqlite3* db) const { sqlite3_close(db); } };
  struct Finish { void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); } };
  struct Free { void operator()(unsigned char* memory) const { sqlite3_free(memory); } };
  // clang-format on
  void check(int code) {
    if (code != SQLITE_OK && error_.empty()) error_ = db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code);
  }
  std::string error_;
  std::unique_ptr<sqlite3, Close> db_;
  std::unique_ptr<sqlite3_stmt, Finish> insert_;  // goes before the database
  int bound_ = 0;
};

/// "order" is a word of SQL.
std::string sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

void add_question(MemoryDatabase& db, const SweepResult& result) {
  const SweepQuestion& q = result.question;
  db.run("CREATE TABLE question (name TEXT NOT NULL, value NOT NULL)");
  db.prepare("INSERT INTO question VALUES (?, ?)");
  const auto add = [&](std::string_view name, const auto& value) { db.bind(name), db.bind(value), db.insert(); };
  add("network", q.network);
  add("machine", q.machine);
  add("stack", q.stack);
  add("profile", q.profile);
  for (const auto& [key, value] : q.fixed) add(key, value);
  for (const SweepAxis& axis : q.axes) {
    std::string values;
    for (const std::string& value : axis.values) values += (values.empty() ? "" : ", ") + value;
    add("axis " + axis.key, values);
  }
  add("objective", q.objective);
  add("where", q.where);
  for (const std::string& figure : q.pareto) add("pareto", figure);
  add("top", q.top);
  add("exhaustive", std::uint64_t{q.exhaustive});
  add("price_per_gpu_hour", q.price_per_gpu_hour);
  add("hash", q.hash());
  add("shard", fmt::format("{}/{}", result.shard.index, result.shard.count));
  add("complete", std::uint64_t{result.complete()});
}

void add_tally(MemoryDatabase& db, const SweepTally& tally) {
  db.run("CREATE TABLE tally (name TEXT NOT NULL, reason TEXT NOT NULL, value NOT NULL)");
  db.prepare("INSERT INTO tally VALUES (?, ?, ?)");
  const auto add = [&](std::string_view name, std::string_view reason, auto value) {
    db.bind(name), db.bind(reason), db.bind(value), db.insert();
  };
  add("enumerated", "", tally.enumerated);
  for (const auto& [reason, n] : tally.illegal) add("illegal", reason, n);
  add("does_not_fit", "", tally.does_not_fit);
  add("excluded", "", tally.excluded);
  if (tally.does_not_fit == 0) return;
  add("smallest_overflow_bytes", "", tally.smallest_overflow_bytes);
  add("smallest_overflow_index", "", tally.smallest_overflow_index);
}

/// "8" becomes a number in a NUMERIC column, "1f1b" stays text (SQLite's type affinity).
std::string_view sql_type(const ExportColumn& column) {
  if (column.axis >= 0) return "NUMERIC";
  return row_of(column.figure).unit == FigureUnit::count ? "INTEGER" : "REAL";
}

void add_sql_rows(MemoryDatabase& db, std::string_view list, const std::vector<SweepRow>& rows,
    const std::vector<ExportColumn>& columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    db.bind(list), db.bind(std::uint64_t{i + 1}), db.bind(rows[i].index);
    for (const ExportColumn& column : columns) {
      if (column.axis >= 0) db.bind(rows[i].choices[static_cast<std::size_t>(column.axis)]);
      else db.bind(rows[i].figures[static_cast<std::size_t>(column.figure)]);
    }
    db.insert();
  }
}

void add_rows_table(MemoryDatabase& db, const SweepResult& result) {
  const std::vector<ExportColumn> columns = export_columns(result.question);
  std::string definition = "list TEXT NOT NULL, rank INTEGER NOT NULL, \"index\" INTEGER NOT NULL", places = "?, ?, ?";
  for (const ExportColumn& column : columns) {
    definition += fmt::format(", {} {}", sql_name(column.name), sql_type(column));
    places += ", ?";
  }
  db.run(fmt::format("CREATE TABLE rows ({})", definition));
  db.prepare(fmt::format("INSERT INTO rows VALUES ({})", places));
  add_sql_rows(db, "top", result.top, columns);
  add_sql_rows(db, "pareto", result.pareto, columns);
}

/// Ours are written in one piece, without a log beside them: SQLite's file format, section 1.3, bytes 18 and 19.
bool is_plain_database(const std::string& name) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::array<char, 20> head{};
  std::ifstream file(name, std::ios::binary);
  if (!file.read(head.data(), head.size())) return false;
  return std::string_view(head.data(), magic.size()) == magic && head[18] == 1 && head[19] == 1;
}

}  // namespace

Expected<std::string> sqlite_database(const SweepResult& result) {
  MemoryDatabase db;
  db.run("BEGIN");
  add_question(db, result);
  add_tally(db, result.tally);
  add_rows_table(db, result);
  db.run("COMMIT");
  return db.bytes();
}

bool is_sqlite_export(const std::string& name) {
  if (!is_plain_database(name)) return false;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db(opened, sqlite3_close);
  if (code != SQLITE_OK) return false;
  int tables = 0;
  const auto count = [](void* sum, int, char** values, char**) {
    return *static_cast<int*>(sum) = std::atoi(values[0]), 0;
  };
  constexpr const char* sql =
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('question', 'tally', 'rows')";
  return sqlite3_exec(db.get(), sql, count, &tables, nullptr) == SQLITE_OK && tables == 3;
}

}  // namespace stepcast::sweep
