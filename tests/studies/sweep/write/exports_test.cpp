// Tables and databases of a sweep's rows, read back as other programs would.
#include "studies/sweep/write/exports.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"
#include "tests/studies/sweep/synthetic_results.h"

namespace stepcast::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace synthetic = testing_sweep;

std::vector<std::string> names_of(const std::vector<ExportColumn>& columns) {
  std::vector<std::string> out;
  for (const ExportColumn& column : columns) out.push_back(column.name);
  return out;
}

/// Records and fields, by the grammar of RFC 4180.
std::vector<std::vector<std::string>> csv_records(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') records.back().back() += text[++i];
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && text[i] == ',') records.back().emplace_back();
    else if (!quoted && text.compare(i, 2, "\r\n") == 0) records.push_back({""}), ++i;
    else records.back().back() += text[i];
  }
  records.pop_back();
  return records;
}

/// Of a database in a file: the rows of a query, fields joined by "|".
class WrittenTable {
 public:
  explicit WrittenTable(const std::string& name) {
    EXPECT_EQ(sqlite3_open_v2(name.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  }
  ~WrittenTable() { sqlite3_close(db_); }
  std::vector<std::string> operator()(const std::string& sql) const {
    std::vector<std::string> rows;
    const auto take = [](void* into, int n, char** fields, char**) {
      std::string row;
      for (int i = 0; i < n; ++i) row += (i == 0 ? "" : "|") + std::string(fields[i] == nullptr ? "NULL" : fields[i]);
      static_cast<std::vector<std::string>*>(into)->push_back(row);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), take, &rows, nullptr), SQLITE_OK) << sql << ": " << sqlite3_errmsg(db_);
    return rows;
  }

 private:
  sqlite3* db_ = nullptr;
};

class SweepExport : public testing::Test {
 protected:
  SweepExport() : folder_(testing_program::own_path("export/")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~SweepExport() override { std::filesystem::remove_all(folder_); }
  static std::string text_of(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string written(const std::string& name, const SweepResult& result) {
    auto file = ExportFile::open({}, name, "-o");
    if (!file) return to_text(file.error());
    const auto done = file->write(result);
    return done ? "" : to_text(done.error());
  }
  std::string folder_;
};

TEST(SweepExportColumns, NoColumnTwice) {
  SweepQuestion q;
  q.axes = {{"tp", {"1", "8"}}, {"zero", {"1", "auto"}}, {"order", {"tp,pp"}}};
  std::vector<std::string> names = names_of(export_columns(q));
  EXPECT_EQ(names[0], "tp");
  EXPECT_EQ(names[1], "zero");
  EXPECT_EQ(std::count(names.begin(), names.end(), "tp"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "figure_zero"), 1);
  EXPECT_EQ(names.size(), q.axes.size() + figure_count - 1);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(SweepCsv, HasEveryRowAndEveryDigit) {
  SweepResult result = synthetic::result(synthetic::question());
  result.top[0].figures[static_cast<std::size_t>(Figure::energy)] = std::numeric_limits<double>::quiet_NaN();
  const auto records = csv_records(csv_table(result));
  ASSERT_EQ(records.size(), 1 + result.top.size() + result.pareto.size());
  const std::vector<std::string>& header = records[0];
  EXPECT_THAT(std::vector<std::string>(header.begin(), header.begin() + 6),
      ElementsAre("list", "rank", "index", "tp", "schedule", "micro_batch"));
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  bool odd = false;
  for (std::size_t i = 0; i < records.size() - 1; ++i) {
    const bool top = i < result.top.size();
    const SweepRow& row = top ? result.top[i] : result.pareto[i - result.top.size()];
    const std::vector<std::string>& record = records[i + 1];
    ASSERT_EQ(record.size(), header.size());
    EXPECT_EQ(record[0], top ? "top" : "pareto");
    EXPECT_EQ(record[1], fmt::format("{}", 1 + (top ? i : i - result.top.size())));
    EXPECT_EQ(record[2], fmt::format("{}", row.index));
    EXPECT_EQ(record[4], row.choices[1]);
    EXPECT_EQ(std::stod(record[column("step_time_s")]), row.figures[0]);
    odd |= record[4] == "odd \"name\", with comma";
  }
  EXPECT_TRUE(odd) << "no row tries the quotes";
  EXPECT_EQ(records[1][column("energy_j_per_step")], "");
}

TEST_F(SweepExport, SqliteHoldsQuestionTallyAndRows) {
  SweepResult result = synthetic::result(synthetic::question());
  result.top[0].figures[static_cast<std::size_t>(Figure::energy)] = std::numeric_limits<double>::infinity();
  const std::string name = folder_ + "r.sqlite";
  ASSERT_EQ(written(name, result), "");
  const WrittenTable query(name);
  EXPECT_THAT(query("PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query("SELECT value FROM question WHERE name IN ('machine', 'global_batch', 'hash', 'shard', 'complete') "
                    "ORDER BY rowid"),
      ElementsAre("dgx-h100", "256", result.question.hash(), "0/1", "1"));
  EXPECT_THAT(query("SELECT sum(value) FROM tally WHERE name = 'illegal'"),
      ElementsAre(fmt::format("{}", result.tally.illegal_sum())));
  EXPECT_THAT(query("SELECT value FROM tally WHERE name = 'enumerated'"), ElementsAre("42"));
  EXPECT_THAT(
      query("SELECT count(*) FROM rows WHERE list = 'pareto'"), ElementsAre(fmt::format("{}", result.pareto.size())));
  const SweepRow& best = result.top[0];
  EXPECT_THAT(query("SELECT \"index\", tp, schedule, typeof(tp), typeof(schedule), energy_j_per_step, "
                    "typeof(step_time_s) FROM rows "
                    "WHERE list = 'top' AND rank = 1"),
      ElementsAre(fmt::format("{}|{}|{}|integer|text|NULL|real", best.index, best.choices[0], best.choices[1])));
  EXPECT_THAT(query("SELECT count(*) FROM rows WHERE list = 'top' AND step_time_s = (SELECT min(step_time_s) FROM "
                    "rows) AND tp <= 8"),
      testing::Not(ElementsAre("0")));
  EXPECT_EQ(query("SELECT * FROM rows").front().size() > 100, true);
}

TEST_F(SweepExport, EqualResultsGiveEqualBytes) {
  const SweepResult result = synthetic::result(synthetic::question());
  for (const ExportKind& kind : export_kinds()) {
    const std::string one = folder_ + "one" + std::string(kind.ending),
                      two = folder_ + "two" + std::string(kind.ending);
    ASSERT_EQ(written(one, result), "");
    ASSERT_EQ(written(two, result), "");
    EXPECT_EQ(text_of(one), text_of(two)) << kind.ending;
    EXPECT_FALSE(text_of(one).empty());
    EXPECT_EQ(written(one, result), "") << "a finished result is replaced";
  }
}

TEST_F(SweepExport, EmptyResultsAreTablesToo) {
  const SweepResult none = synthetic::result(synthetic::question(0));
  EXPECT_EQ(csv_records(csv_table(none)).size(), 1U);
  ASSERT_EQ(written(folder_ + "r.db", none), "");
  EXPECT_THAT(WrittenTable(folder_ + "r.db")("SELECT count(*) FROM rows"), ElementsAre("0"));
}

TEST_F(SweepExport, TheEndingSaysTheKind) {
  EXPECT_EQ(find_export("r.jsonl", "-o").value()->ending, ".jsonl");
  EXPECT_EQ(find_export("some.folder/result", "-o").value()->ending, ".jsonl");
  EXPECT_EQ(find_export("R.CSV", "-o").value()->ending, ".csv");
  EXPECT_TRUE(is_resumable(**find_export("r.jsonl", "-o")));
  EXPECT_FALSE(is_resumable(**find_export("r.csv", "-o")));
  EXPECT_THAT(to_text(find_export("r.xlsx", "-o").error()),
      HasSubstr("-o: r.xlsx: unknown ending '.xlsx' (one of: .jsonl (JSON Lines; the only kind that --resume and merge "
                "read), "));
}

/// As another program would make it.
void make_database(const std::string& name, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(name.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST_F(SweepExport, OtherDatabasesAreNotReplaced) {
  const std::string name = folder_ + "mine.db";
  for (const char* sql : {"CREATE TABLE runs (a)", "CREATE TABLE question (a); CREATE TABLE tally (a)",
           "PRAGMA journal_mode = WAL; CREATE TABLE question (a); CREATE TABLE tally (a); CREATE TABLE rows (a)"}) {
    std::filesystem::remove(name);
    make_database(name, sql);
    EXPECT_FALSE(is_sqlite_export(name)) << sql;
    const auto file = ExportFile::open({}, name, "--output");
    ASSERT_FALSE(file.has_value()) << sql;
    EXPECT_THAT(
        to_text(file.error()), HasSubstr("mine.db is there and is no such file of stepcast (name another file"));
    EXPECT_TRUE(std::filesystem::exists(name));
  }
}

TEST_F(SweepExport, WhatCannotBeWrittenIsExplained) {
  const SweepResult result = synthetic::result(synthetic::question());
  EXPECT_THAT(written(folder_ + "no/such/r.csv", result), HasSubstr("cannot be written: No such file or directory"));
  EXPECT_THAT(written("/dev/full", result),
      HasSubstr("/dev/full: could not be written: No space left on device (is the disk full?)"));
  EXPECT_EQ(written("/dev/null", result), "");
  std::ofstream(folder_ + "r.jsonl") << write_result(synthetic::result(synthetic::question(), {}, 3));
  EXPECT_THAT(
      written(folder_ + "r.jsonl", result), HasSubstr("holds an unfinished result: 39 of 42 configurations are done"));
}

}  // namespace
}  // namespace stepcast::sweep
