#include "calibrate/import/tables/table_import.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/tables/plausible.h"
#include "calibrate/rows/measurement_context.h"

namespace stepcast::calibrate {
namespace {

constexpr const char* empty_time = "fields without a time";
constexpr const char* no_gpu = "rows whose GPU nothing says";
constexpr std::string_view unknown_gpu = "rows of a device that the catalogue lacks: ";

}  // namespace

TableImport::TableImport(const DelimitedTable& table, const ImportOptions& options) : table_(table), options_(options) {
  for (const auto& [column, value] : options.only) {
    const auto at = table.find(column);
    if (at) only_.emplace_back(*at, value);
    else only_in_header_.emplace(column, value);
  }
}

/// A name that no column and no layout knows would silently keep every row.
bool TableImport::check_only() {
  for (const auto& [column, value] : only_in_header_) {
    if (column == "collection" && !header_names.empty()) continue;
    refuse(Error{
        table_.where(), fmt::format("no column '{}' to choose rows by", column), name_hint(column, table_.columns())});
    return false;
  }
  return true;
}

bool TableImport::kept(std::size_t row) const {
  return std::all_of(
      only_.begin(), only_.end(), [&](const auto& rule) { return table_.text(row, rule.first) == rule.second; });
}

bool TableImport::next() {
  if (next_row_ == 0 && !check_only()) return false;
  if (error_) return false;
  while (next_row_ < table_.rows() && !kept(next_row_)) ++next_row_;
  if (next_row_ == table_.rows()) return false;
  row_ = next_row_++;
  ++kept_rows_;
  return true;
}

std::string_view TableImport::text(std::string_view column) const {
  const auto at = table_.find(column);
  return at ? std::string_view(table_.text(row_, *at)) : std::string_view();
}

bool TableImport::has(std::string_view column) const { return !text(column).empty(); }

double TableImport::number(std::string_view column) {
  const auto at = table_.find(column);
  if (!at) refuse(fmt::format("no column '{}'", column), name_hint(column, table_.columns()));
  if (error_) return 1;
  const auto value = table_.number(row_, *at);
  if (!value) refuse(value.error());
  return value.value_or(1);
}

double TableImport::count(std::string_view column, double least) {
  constexpr double largest = 1e15;
  const double value = number(column);
  if (!error_ && !(value >= least && value <= largest && value == std::floor(value)))
    refuse(fmt::format("{} in column '{}'", value, column), fmt::format("a whole number from {}", least));
  return error_ ? std::max(1.0, least) : value;
}

std::optional<Seconds> TableImport::time(std::string_view column, double seconds_per_unit) {
  if (!has(column)) {
    leave_out(empty_time);
    return std::nullopt;
  }
  constexpr double longest = 3600;  // seconds: no call lasts an hour
  const double value = number(column), seconds = value * seconds_per_unit;
  if (!error_ && !(value > 0 && seconds <= longest))
    refuse(fmt::format("time {} in column '{}'", value, column), "times of real calls, above 0 and within an hour");
  if (error_) return std::nullopt;
  return Seconds(seconds);
}

bool TableImport::wants(const std::string& column, std::string_view value) const {
  const auto at = only_in_header_.find(column);
  return at == only_in_header_.end() || at->second == value;
}

std::optional<ElementType> TableImport::element(std::string_view column) {
  const bool said = has(column);
  const std::string_view name = said ? text(column) : std::string_view(options_.precision);
  const auto type = name.empty() ? element_type_of_file(table_.where()) : element_type_of(name);
  if (type) return type;
  if (said) leave_out(fmt::format("rows of element type '{:.40}'", name));
  else if (name.empty())
    refuse("neither the table nor the file's name says the element type", "say it: --precision bf16");
  else
    refuse(fmt::format("unknown element type '{:.40}'", name),
        "one of: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4");
  return std::nullopt;
}

/// Where the layout names no GPU the options do; where neither does, the row cannot be placed.
int TableImport::index_of(const MeasurementContext& raw) {
  for (const auto& [known, index] : contexts_)
    if (known == raw) return index;
  auto merged = merged_context(raw, options_.context, table_.where(row_));
  int index = -1;
  if (!merged) {
    refuse(merged.error());
  } else if (!merged->gpu.empty()) {
    index = context_index(out_, *merged);
  }
  contexts_.emplace_back(raw, index);
  return index;
}

void TableImport::add(const Query& what, Seconds time, const MeasurementContext& context, double power_w) {
  Measurement row{what, time, {}, {}, 0, 1, power_w, false};
  add(std::move(row), context);
}

void TableImport::add(Measurement measurement, const MeasurementContext& context) {
  if (error_) return;
  measurement.context = index_of(context);
  if (measurement.context < 0)
    return leave_out(context.device.empty() ? no_gpu : fmt::format("{}'{:.60}'", unknown_gpu, context.device));
  const MeasurementContext& placed = out_.contexts[static_cast<std::size_t>(measurement.context)];
  if (const std::string reason = beyond_datasheet(measurement, placed.gpu); !reason.empty()) {
    Doubt& doubt = doubts_[fmt::format("{} {}: {}", placed.gpu, placed.software, reason)];
    if (doubt.rows++ == 0) doubt.first = where();
  }
  out_.rows.push_back(std::move(measurement));
}

void TableImport::note(std::string text) {
  text = fmt::format("{}: {}", last_of_path(table_.where()), text);
  if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end()) out_.notes.push_back(std::move(text));
}

void TableImport::refuse(std::string what, std::string hint) {
  refuse(Error{where(), std::move(what), std::move(hint)});
}

void TableImport::refuse(Error error) {
  if (!error_) error_ = std::move(error);
}

std::string TableImport::left_out_text() const {
  std::string text;
  for (const auto& [reason, rows] : left_out_) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", rows, reason);
  return text;
}

Expected<Measurements> TableImport::finish() {
  if (error_) return tl::unexpected<Error>(*error_);
  if (out_.rows.empty()) {
    if (table_.rows() == 0) return fail(table_.where(), "no rows under the header", "a row per measurement");
    if (kept_rows_ == 0 && !only_.empty()) {
      std::set<std::string> values;
      for (std::size_t row = 0; row < table_.rows() && values.size() < 8; ++row)
        values.insert(table_.text(row, only_[0].first));
      return fail(table_.where(),
          fmt::format("no row has {} = '{:.80}'", table_.columns()[only_[0].first], only_[0].second),
          fmt::format("values there: {}", fmt::join(values, ", ")));
    }
    const bool gpu = std::any_of(left_out_.begin(), left_out_.end(),
        [](const auto& reason) { return reason.first == no_gpu || reason.first.starts_with(unknown_gpu); });
    return fail(table_.where(), left_out_.empty() ? "nothing to import" : "nothing is left: " + left_out_text(),
        gpu ? "say which GPU it was by its id in the catalogue: --gpu h100-sxm"
            : "rows with all columns of their kind and times above 0");
  }
  if (!left_out_.empty()) note("left out " + left_out_text());
  for (const auto& [reason, doubt] : doubts_)
    note(fmt::format("{} rows of {}; the first is {}", doubt.rows, reason, doubt.first));
  return std::move(out_);
}

}  // namespace stepcast::calibrate
