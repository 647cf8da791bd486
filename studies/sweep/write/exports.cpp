#include "studies/sweep/write/exports.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/print/page/page.h"
#include "studies/sweep/write/explorer.h"
#include "studies/sweep/result/result_file.h"

namespace stepcast::sweep {
namespace {

Expected<std::string> json_lines(const SweepResult& result) { return write_result(result); }
Expected<std::string> csv_text(const SweepResult& result) { return csv_table(result); }
Expected<std::string> explorer_text(const SweepResult& result) { return explorer_page(result); }

constexpr std::string_view csv_begin = "list,rank,index";

/// What a file begins with, at most `size` bytes.
std::string beginning_of(const std::string& name, std::size_t size) {
  std::ifstream file(name, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

bool is_csv_export(const std::string& name) {
  const std::string begin = std::string(csv_begin) + ',';
  return beginning_of(name, begin.size()) == begin;
}

bool is_explorer_page(const std::string& name) { return is_page(name, explorer_mark); }

constexpr ExportKind kinds_of_export[] = {
    {".jsonl", "JSON Lines; the only kind that --resume and merge read", json_lines, nullptr},
    {".csv", "a table of the rows (RFC 4180)", csv_text, is_csv_export},
    {".sqlite", "an SQLite database: tables question, tally, rows", sqlite_database, is_sqlite_export, true},
    {".db", "the same", sqlite_database, is_sqlite_export, true},
    {".html", "a page to explore in a browser", explorer_text, is_explorer_page, false, explorer_rows}};

bool is_whole_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// RFC 4180, section 2, rules 5 to 7.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_value(const ExportColumn& column, const SweepRow& row) {
  if (column.axis >= 0) return csv_field(row.choices[static_cast<std::size_t>(column.axis)]);
  const double value = row.figures[static_cast<std::size_t>(column.figure)];
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

void add_csv_rows(std::string& text, std::string_view list, const std::vector<SweepRow>& rows,
    const std::vector<ExportColumn>& columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("{},{},{}", list, i + 1, rows[i].index);
    for (const ExportColumn& column : columns) text += ',' + csv_value(column, rows[i]);
    text += "\r\n";
  }
}

}  // namespace

std::vector<ExportColumn> export_columns(const SweepQuestion& question) {
  std::vector<ExportColumn> columns;
  for (const SweepAxis& axis : question.axes) columns.push_back({axis.key, static_cast<int>(columns.size())});
  for (const FigureRow& row : figure_rows()) {
    const auto axis = std::ranges::find(question.axes, row.key, &SweepAxis::key);
    if (axis == question.axes.end()) columns.push_back({std::string(row.key), -1, row.figure});
    else if (!std::ranges::all_of(axis->values, is_whole_number))
      columns.push_back({"figure_" + std::string(row.key), -1, row.figure});
  }
  return columns;
}

std::string csv_table(const SweepResult& result) {
  const std::vector<ExportColumn> columns = export_columns(result.question);
  std::string text(csv_begin);
  for (const ExportColumn& column : columns) text += ',' + csv_field(column.name);
  text += "\r\n";
  add_csv_rows(text, "top", result.top, columns);
  add_csv_rows(text, "pareto", result.pareto, columns);
  return text;
}

std::span<const ExportKind> export_kinds() { return kinds_of_export; }

Expected<const ExportKind*> find_export(const std::string& name, const std::string& flag) {
  const std::string ending = lower_case(std::filesystem::path(name).extension().string());
  std::string list;
  if (ending.empty()) return kinds_of_export;
  for (const ExportKind& kind : kinds_of_export) {
    if (kind.ending == ending) return &kind;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", kind.ending, kind.doc);
  }
  return fail(flag, fmt::format("{}: unknown ending '{}'", name, ending), "one of: " + list);
}

bool is_resumable(const ExportKind& kind) { return &kind == kinds_of_export; }

Expected<ExportFile> ExportFile::open(const Arguments& arguments, const std::string& name, const std::string& flag) {
  TRY(const auto kind, find_export(name, flag));
  OutputPlace place = output_place(arguments, name, flag, kind->own);
  place.binary = kind->binary;
  if (kind->own == nullptr) {
    TRY(check_replaceable(name, flag, place.force));
    place.force = true;  // it has been looked at whole
  }
  TRY(auto file, OutputFile::open(place));
  return ExportFile(*kind, std::move(file));
}

Expected<void> ExportFile::write(const SweepResult& result) {
  TRY(const auto text, kind_->text(result));
  return file_.write(text);
}

}  // namespace stepcast::sweep
