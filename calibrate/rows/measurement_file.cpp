#include "calibrate/rows/measurement_file.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "calibrate/rows/measurement_columns.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/json_writer.h"

namespace stepcast::calibrate {
namespace {

using detail::JsonType;
using detail::JsonValue;
using detail::MeasurementColumn;
using detail::MeasurementTable;

constexpr int file_version = 1;
constexpr std::string_view version_key = "stepcast_measurements";
constexpr std::string_view context_column = "context";

/// Beyond the files of the catalogue: a million rows.
constexpr std::size_t measurement_file_limit = std::size_t{256} << 20;

// --- tables ---

/// What a column of the file fills; null = the context.
using Header = std::vector<const MeasurementColumn*>;

std::vector<const MeasurementColumn*> columns_of(const MeasurementTable& table) {
  std::vector<const MeasurementColumn*> all;
  for (const MeasurementColumn& column : detail::common_measurement_columns()) all.push_back(&column);
  for (const MeasurementColumn& column : table.columns) all.push_back(&column);
  return all;
}

class TableReader {
 public:
  TableReader(const MeasurementTable& table, std::string where, std::size_t contexts, Measurements& into)
      : table_(table), where_(std::move(where)), contexts_(contexts), into_(into) {}

  Expected<void> read(const JsonValue& value) {
    if (value.type != JsonType::object) return wrong("", value, "an object with columns and rows");
    const JsonValue* columns = nullptr;
    const JsonValue* rows = nullptr;
    for (const detail::JsonMember& member : value.parts->members) {
      if (member.key == "columns") columns = &member.value;
      else if (member.key == "rows") rows = &member.value;
      else return fail(where_ + detail::json_pointer("", member.key), "unknown key", "columns and rows");
    }
    if (!columns) return fail(where_ + "/columns", "missing", "the names of the columns");
    if (!rows) return fail(where_ + "/rows", "missing", "a list of rows");
    TRY(read_header(*columns));
    return read_rows(*rows);
  }

 private:
  Expected<void> read_header(const JsonValue& value) {
    if (value.type != JsonType::list) return wrong("/columns", value, "a list of names");
    const auto known = columns_of(table_);
    std::vector<std::string> names{std::string(context_column)};
    for (const MeasurementColumn* column : known) names.emplace_back(column->name);
    for (std::size_t i = 0; i < value.parts->items.size(); ++i) {
      const JsonValue& item = value.parts->items[i];
      const std::string at = fmt::format("/columns/{}", i);
      if (item.type != JsonType::string) return wrong(at, item, "the name of a column");
      const auto name = std::find(names.begin(), names.end(), item.parts->text);
      if (name == names.end())
        return fail(where_ + at, fmt::format("unknown column '{}'", detail::json_shown(item.parts->text)),
            name_hint(item.parts->text, names));
      const MeasurementColumn* column =
          name == names.begin() ? nullptr : known[static_cast<std::size_t>(name - names.begin() - 1)];
      if (std::find(header_.begin(), header_.end(), column) != header_.end())
        return fail(where_ + at, fmt::format("column '{}' stands here twice", *name), "keep one of them");
      header_.push_back(column);
    }
    for (const MeasurementColumn* column : known)
      if (column->always && std::find(header_.begin(), header_.end(), column) == header_.end())
        return fail(
            where_ + "/columns", fmt::format("no column '{}'", column->name), "every row of this table needs it");
    return {};
  }

  Expected<void> read_rows(const JsonValue& value) {
    if (value.type != JsonType::list) return wrong("/rows", value, "a list of rows");
    const auto& rows = value.parts->items;
    into_.rows.reserve(into_.rows.size() + rows.size());
    Measurement blank;
    blank.what = table_.query;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto at = [&] { return fmt::format("/rows/{}", r); };
      if (rows[r].type != JsonType::list) return wrong(at(), rows[r], "a list of values");
      const auto& items = rows[r].parts->items;
      if (items.size() != header_.size())
        return fail(where_ + at(), fmt::format("{} values", items.size()), fmt::format("{} columns", header_.size()));
      Measurement row = blank;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string wanted = header_[i] ? header_[i]->take(row, items[i]) : take_context(row, items[i]);
        if (!wanted.empty()) return wrong(fmt::format("{}/{}", at(), i), items[i], wanted);
      }
      TRY(check(row, at()));
      if (contexts_ == 0) return fail(where_ + at(), "a row without a context", "contexts lists at least one");
      into_.rows.push_back(std::move(row));
    }
    return {};
  }

  std::string take_context(Measurement& row, const JsonValue& value) const {
    if (value.type != JsonType::integer || value.integer < 0 || value.integer >= static_cast<std::int64_t>(contexts_))
      return fmt::format("the number of one of the {} contexts, from 0", contexts_);
    row.context = static_cast<int>(value.integer);
    return {};
  }

  /// What holds between values of a row.
  [[nodiscard]] Expected<void> check(const Measurement& row, const std::string& at) const {
    if (row.low.value() > 0 && row.high.value() > 0 && row.low > row.high)
      return fail(
          where_ + at, fmt::format("low_s {} above high_s {}", row.low.value(), row.high.value()), "low_s <= high_s");
    if (const auto* collective = std::get_if<CollectiveQuery>(&row.what);
        collective && collective->nodes > collective->ranks)
      return fail(where_ + at, fmt::format("{} ranks on {} nodes", collective->ranks, collective->nodes),
          "at least one rank on each node");
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> wrong(
      const std::string& at, const JsonValue& found, const std::string& wanted) const {
    return fail(where_ + at, detail::json_described(found), wanted);
  }

  const MeasurementTable& table_;
  std::string where_;
  std::size_t contexts_;
  Measurements& into_;
  Header header_;
};

void write_table(std::string& text, const MeasurementTable& table, const std::vector<const Measurement*>& rows) {
  Measurement blank;
  blank.what = table.query;
  std::vector<const MeasurementColumn*> used;
  std::vector<std::string> defaults;
  for (const MeasurementColumn* column : columns_of(table)) {
    const std::string usual = column->print(blank);
    if (column->always ||
        std::any_of(rows.begin(), rows.end(), [&](const Measurement* m) { return column->print(*m) != usual; }))
      used.push_back(column);
  }
  text += fmt::format(",\n  \"{}\": {{\n    \"columns\": [\"{}\"", table.name, context_column);
  for (const MeasurementColumn* column : used) text += fmt::format(", \"{}\"", column->name);
  text += "],\n    \"rows\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("{}\n      [{}", i == 0 ? "" : ",", rows[i]->context);
    for (const MeasurementColumn* column : used) (text += ", ") += column->print(*rows[i]);
    text += ']';
  }
  text += "\n    ]\n  }";
}

Expected<void> read_version(const JsonValue& root, const std::string& where) {
  const auto& members = root.parts->members;
  const auto version = std::find_if(members.begin(), members.end(), [](const auto& m) { return m.key == version_key; });
  const std::string at = fmt::format("{}:/{}", where, version_key);
  if (version == members.end()) return fail(at, "missing", fmt::format("{}: a file of measurements", file_version));
  if (version->value.type != JsonType::integer || version->value.integer != file_version)
    return fail(at, detail::json_described(version->value),
        fmt::format("{}, the version that this program reads", file_version));
  return {};
}

Expected<void> read_contexts(const JsonValue& value, const std::string& where, Measurements& into) {
  if (value.type != JsonType::list) return fail(where, detail::json_described(value), "a list of objects");
  for (std::size_t i = 0; i < value.parts->items.size(); ++i) {
    TRY(auto context, detail::read_measurement_context(value.parts->items[i], fmt::format("{}/{}", where, i)));
    into.contexts.push_back(std::move(context));
  }
  return {};
}

Expected<void> read_notes(const JsonValue& value, const std::string& where, Measurements& into) {
  if (value.type != JsonType::list) return fail(where, detail::json_described(value), "a list of texts");
  for (std::size_t i = 0; i < value.parts->items.size(); ++i) {
    const JsonValue& item = value.parts->items[i];
    if (item.type != JsonType::string)
      return fail(fmt::format("{}/{}", where, i), detail::json_described(item), "a text");
    into.notes.push_back(item.parts->text);
  }
  return {};
}

/// Contexts before the tables that count on them, wherever they stand in the file.
Expected<Measurements> read_document(const JsonValue& root, const std::string& where) {
  if (root.type != JsonType::object) return fail(where, detail::json_described(root), "an object");
  TRY(read_version(root, where));
  Measurements all;
  std::vector<std::string> names{std::string(version_key), "contexts", "notes"};
  for (const MeasurementTable& table : detail::measurement_tables()) names.emplace_back(table.name);
  for (const detail::JsonMember& member : root.parts->members) {
    const std::string at = where + ':' + detail::json_pointer("", member.key);
    Expected<void> done;
    if (member.key == "contexts") done = read_contexts(member.value, at, all);
    else if (member.key == "notes") done = read_notes(member.value, at, all);
    else if (std::find(names.begin(), names.end(), member.key) == names.end())
      done = fail(at, "unknown key", name_hint(member.key, names));
    if (!done) return tl::unexpected(std::move(done.error()));
  }
  for (const detail::JsonMember& member : root.parts->members)
    for (const MeasurementTable& table : detail::measurement_tables()) {
      if (member.key != table.name) continue;
      TableReader reader(table, fmt::format("{}:/{}", where, table.name), all.contexts.size(), all);
      TRY(reader.read(member.value));
    }
  return all;
}

}  // namespace

Expected<Measurements> read_measurements(std::string_view text, const std::string& where) {
  TRY(auto root, detail::parse_json(text, where, measurement_file_limit));
  return read_document(root, where);
}

std::string write_measurements(const Measurements& measurements) {
  std::string text = fmt::format("{{\n  \"{}\": {},\n  \"contexts\": [", version_key, file_version);
  for (std::size_t i = 0; i < measurements.contexts.size(); ++i)
    text += fmt::format("{}\n    {}", i == 0 ? "" : ",", detail::write_measurement_context(measurements.contexts[i]));
  text += measurements.contexts.empty() ? "]" : "\n  ]";
  for (std::size_t t = 0; t < detail::measurement_tables().size(); ++t) {
    std::vector<const Measurement*> rows;
    for (const Measurement& row : measurements.rows)
      if (row.what.index() == t) rows.push_back(&row);
    if (!rows.empty()) write_table(text, detail::measurement_tables()[t], rows);
  }
  if (!measurements.notes.empty()) {
    text += ",\n  \"notes\": [";
    for (std::size_t i = 0; i < measurements.notes.size(); ++i)
      text += fmt::format("{}\n    {}", i == 0 ? "" : ",", json_quoted(measurements.notes[i]));
    text += "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace stepcast::calibrate
