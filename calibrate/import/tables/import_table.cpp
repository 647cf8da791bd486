// Tables with a header line. Which layout one is follows from its columns: a known export, or our own words, perhaps
// through the column map of the options.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/tables/known_export.h"
#include "calibrate/import/tables/plain_row.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/import/tables/table_import.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

std::vector<std::string_view> lacking_columns(const KnownExport& row, const DelimitedTable& table) {
  std::vector<std::string_view> lacking;
  for (const std::string_view column : row.columns)
    if (!table.find(column)) lacking.push_back(column);
  const bool one = row.one_of.empty() || std::any_of(row.one_of.begin(), row.one_of.end(),
                                             [&](std::string_view c) { return table.find(c).has_value(); });
  if (!one) lacking.push_back(row.one_of.front());
  return lacking;
}

const KnownExport* export_of(const DelimitedTable& table) {
  for (const KnownExport& row : known_exports())
    if (lacking_columns(row, table).empty()) return &row;
  return nullptr;
}

/// The column that each field of a plain row comes from, named in our words where the options say so.
struct PlainColumn {
  std::string name;
  std::size_t at;
};

Expected<std::vector<PlainColumn>> plain_columns(const DelimitedTable& table, const ImportOptions& options) {
  std::vector<PlainColumn> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) columns.push_back({lower_case(table.columns()[i]), i});
  for (const auto& [ours, theirs] : options.columns) {
    const auto at = table.find(theirs);
    if (!at)
      return fail(
          table.where(), fmt::format("no column '{:.80}' for {}", theirs, ours), name_hint(theirs, table.columns()));
    std::erase_if(columns,
        [&, name = lower_case(ours)](const PlainColumn& column) { return column.at != *at && column.name == name; });
    std::erase_if(columns,
        [&, name = lower_case(theirs)](const PlainColumn& column) { return column.at == *at && column.name == name; });
    columns.push_back({lower_case(ours), *at});
  }
  return columns;
}

struct TimeColumn {
  std::string name;
  double unit;
};

/// Exactly one column of time; the column map chooses where there are more.
Expected<TimeColumn> time_column(
    const DelimitedTable& table, const std::vector<PlainColumn>& columns, const ImportOptions& options) {
  std::vector<const PlainColumn*> times;
  std::string without_unit;
  for (const PlainColumn& column : columns) {
    if (options.columns.contains(column.name) && time_unit_of(column.name))
      return TimeColumn{table.columns()[column.at], *time_unit_of(column.name)};
    if (time_unit_of(column.name)) times.push_back(&column);
    else if (names_time_without_unit(column.name)) without_unit = column.name;
  }
  if (times.size() == 1) return TimeColumn{table.columns()[times[0]->at], *time_unit_of(times[0]->name)};
  if (times.empty() && !without_unit.empty())
    return fail(table.where(), fmt::format("column '{}' does not say its unit", without_unit),
        fmt::format("say it: --column time_us={}", without_unit));
  if (times.empty()) return fail(table.where(), "no column of times", "time_us, or say which: --column time_us=NAME");
  return fail(table.where(), fmt::format("columns '{}' and '{}' are both times", times[0]->name, times[1]->name),
      fmt::format("say which: --column time_us={}", table.columns()[times[0]->at]));
}

PlainFields fields_of_row(const DelimitedTable& table, std::size_t row, const std::vector<PlainColumn>& columns) {
  PlainFields fields;
  for (const PlainColumn& column : columns)
    if (!table.text(row, column.at).empty()) fields.emplace(column.name, table.text(row, column.at));
  return fields;
}

/// The export that the header is most of, and what it lacks of it.
Error unknown_layout(const DelimitedTable& table) {
  const KnownExport* nearest = nullptr;
  double most = 0;
  for (const KnownExport& row : known_exports()) {
    const auto all = static_cast<double>(row.columns.size() + (row.one_of.empty() ? 0 : 1));
    const double found = 1 - static_cast<double>(lacking_columns(row, table).size()) / all;
    if (found > most) nearest = &row;
    most = std::max(most, found);
  }
  const std::string plain =
      "name columns in our words: --column m=NAME --column n=NAME --column k=NAME --column time_us=NAME";
  return {table.where(), fmt::format("columns {} are no known export", fmt::join(table.columns(), ", ")).substr(0, 400),
      nearest == nullptr ? plain
                         : fmt::format("nearest is {}, which also has {}; or {}", nearest->id,
                               fmt::join(lacking_columns(*nearest, table), ", "), plain)};
}

void read_plain_rows(TableImport& rows, const std::vector<PlainColumn>& columns, const TimeColumn& time_of) {
  ImportOptions options = rows.options();
  if (options.precision.empty())
    if (const auto type = element_type_of_file(rows.table().where()))
      options.precision = type->block_scaled ? "fp8-block" : to_text(type->precision);
  std::set<std::string, std::less<>> unread, read = {lower_case(time_of.name)};
  while (rows.next()) {
    const PlainFields fields = fields_of_row(rows.table(), rows.row(), columns);
    const auto time = rows.time(time_of.name, time_of.unit);
    if (!time) continue;
    Measurement measurement;
    measurement.time = *time;
    const auto query = plain_query(fields, rows.where(), options);
    const auto context = plain_context(fields, rows.where());
    const auto extras = read_plain_extras(fields, rows.where(), measurement);
    for (const Error* error :
        {query ? nullptr : &query.error(), context ? nullptr : &context.error(), extras ? nullptr : &extras.error()})
      if (error != nullptr) rows.refuse(*error);
    if (rows.failed()) continue;
    measurement.what = *query;
    rows.add(std::move(measurement), *context);
    read.insert(fields.read.begin(), fields.read.end());
    for (const auto& [name, text] : fields) unread.insert(name);
  }
  for (const PlainColumn& column : columns) {
    const bool of_only = rows.options().only.contains(column.name) || rows.options().columns.contains(column.name);
    if (of_only || read.contains(column.name)) unread.erase(column.name);
  }
  if (!unread.empty()) rows.note(fmt::format("columns that are not read: {}", fmt::join(unread, ", ")).substr(0, 400));
}

Expected<Measurements> read_plain_table(const DelimitedTable& table, const ImportOptions& options) {
  TRY(const auto columns, plain_columns(table, options));
  PlainFields header;
  for (const PlainColumn& column : columns) header.emplace(column.name, "");
  if (!makes_query(header, options)) return tl::unexpected<Error>(unknown_layout(table));
  TRY(const auto time, time_column(table, columns, options));
  TableImport rows(table, options);
  read_plain_rows(rows, columns, time);
  return rows.finish();
}

}  // namespace

int recognise_table(std::string_view text, const std::string& name) {
  constexpr std::size_t enough_for_a_header = 8192;
  const std::string_view head = text.substr(0, std::min(text.find('\n'), enough_for_a_header));
  const bool named = name.ends_with(".csv") || name.ends_with(".tsv");
  const auto table = DelimitedTable::parse(head, name);
  if (!table) return named ? 1 : 0;
  if (export_of(*table) != nullptr || is_wide_gemm(*table)) return 90;
  const bool timed = std::any_of(table->columns().begin(), table->columns().end(),
      [](const std::string& column) { return time_unit_of(column).has_value(); });
  return timed ? 60 : named ? 20 : 0;
}

Expected<Measurements> read_table(std::string_view text, const std::string& where, const ImportOptions& options) {
  TRY(const auto table, DelimitedTable::parse(text, where));
  if (!options.columns.empty()) return read_plain_table(table, options);
  if (const KnownExport* known = export_of(table)) {
    TableImport rows(table, options);
    while (rows.next()) known->read_row(rows);
    return rows.finish();
  }
  if (!is_wide_gemm(table)) return read_plain_table(table, options);
  TableImport rows(table, options);
  read_wide_gemm_rows(rows);
  return rows.finish();
}

}  // namespace stepcast::calibrate
