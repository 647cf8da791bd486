#include "calibrate/trace/csv_trace.h"

#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/trace/trace_builder.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
/// What a column is called, by the tool that wrote it; "" where it has none. A time's unit stands behind its name.
struct TableForm {
  std::string_view tool, start, end, duration, name, device, stream, correlation, launch, kind;
};
constexpr TableForm table_forms[] = {
    {"Nsight Systems", "start", "", "duration", "name", "device", "strm", "corrid", "", ""},
    {"rocprofv3", "start_timestamp", "end_timestamp", "", "kernel_name", "agent_id", "queue_id", "correlation_id", "",
     "kind"},
    {"rocprofv3", "start_timestamp", "end_timestamp", "", "direction", "source_agent_id", "stream_id",
     "correlation_id", "", "kind"},
    {"rocprof", "beginns", "endns", "", "kernelname", "gpu-id", "queue-id", "index", "dispatchns", ""}};

/// Copies and fills, which the tools put among kernels or in tables of their own.
struct CopyWord { std::string_view part; WorkKind kind; };
constexpr CopyWord copy_words[] = {{"[cuda memset", WorkKind::memset}, {"[cuda memcpy", WorkKind::memcpy},
    {"memory_copy_", WorkKind::memcpy}, {"host_to_device", WorkKind::memcpy}, {"device_to_host", WorkKind::memcpy},
    {"device_to_device", WorkKind::memcpy}};

struct TableTimeUnit { std::string_view suffix; double microseconds; };
constexpr TableTimeUnit table_time_units[] = {
    {"(ns)", 1e-3}, {"(us)", 1}, {"(\xC2\xB5s)", 1}, {"(ms)", 1e3}, {"(s)", 1e6}};
// clang-format on

/// Between commas, some of them in quotes.
void split_line(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') field += '"', ++i;
    else if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.push_back(std::move(field)), field.clear();
    else if (c != '\r') field += c;
  }
  fields.push_back(std::move(field));
}

std::string column_name(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return lower_case(stripped(text));
}

/// Where a form's columns stand in a table.
struct TableColumns {
  std::string_view tool;
  std::optional<std::size_t> start, end, duration, name, device, stream, correlation, launch, kind;
  double start_unit = 1e-3, duration_unit = 1e-3;  ///< microseconds
};

std::optional<std::size_t> find_column(const std::vector<std::string>& names, std::string_view wanted, double* unit) {
  if (wanted.empty()) return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = column_name(names[i]);
    if (name == wanted) return i;
    for (const TableTimeUnit& row : table_time_units)
      if (unit != nullptr && name == fmt::format("{} {}", wanted, row.suffix)) {
        *unit = row.microseconds;
        return i;
      }
  }
  return std::nullopt;
}

std::optional<TableColumns> columns_of(const std::vector<std::string>& names) {
  for (const TableForm& form : table_forms) {
    TableColumns found;
    found.tool = form.tool;
    found.start = find_column(names, form.start, &found.start_unit);
    found.duration = find_column(names, form.duration, &found.duration_unit);
    found.end = find_column(names, form.end, nullptr), found.name = find_column(names, form.name, nullptr);
    found.device = find_column(names, form.device, nullptr), found.stream = find_column(names, form.stream, nullptr);
    found.correlation = find_column(names, form.correlation, nullptr);
    found.launch = find_column(names, form.launch, nullptr), found.kind = find_column(names, form.kind, nullptr);
    if (found.start && found.name && (found.end || found.duration) && found.device) return found;
  }
  return std::nullopt;
}

class TraceTable {
 public:
  TraceTable(const std::string& where, TableColumns columns, std::size_t width)
      : where_(where), columns_(columns), width_(width) {}

  Expected<void> take(const std::vector<std::string>& fields, std::size_t line) {
    const std::string at = fmt::format("{}:{}", where_, line);
    const std::size_t widest = std::max({*columns_.start, *columns_.name, *columns_.device, columns_.end.value_or(0),
        columns_.duration.value_or(0), columns_.kind.value_or(0)});
    if (fields.size() <= widest)
      return fail(at, fmt::format("the row has {} fields: it breaks off", fields.size()), "a whole table");
    if (fields.size() > width_)
      return fail(at, fmt::format("the row has {} fields, and the header {}", fields.size(), width_),
          "a name with a comma in it in quotes");
    const std::string& name = fields[*columns_.name];
    TRY(const auto start, finite_number(fields[*columns_.start], at, "the start"));
    double end = 0;
    if (columns_.end) {
      TRY(const auto stop, finite_number(fields[*columns_.end], at, "the end"));
      end = stop * columns_.start_unit;
    } else {
      TRY(const auto takes, finite_number(fields[*columns_.duration], at, "the duration"));
      end = start * columns_.start_unit + takes * columns_.duration_unit;
    }
    DeviceEvent event{.start = start * columns_.start_unit, .end = end};
    if (event.end < event.start) return fail(at, fmt::format("'{:.60}' ends before it starts", name), "a whole table");
    event.correlation = whole(fields, columns_.correlation, -1);
    event.stream = static_cast<std::int32_t>(whole(fields, columns_.stream, 0));
    const WorkKind* copied = copy_kind(name, columns_.kind ? fields[*columns_.kind] : "");
    built_.add(device_of(fields[*columns_.device]), event, copied == nullptr ? name : to_text(*copied), copied, {});
    if (columns_.launch && *columns_.launch < fields.size() && event.correlation >= 0) {
      TRY(const auto launch, finite_number(fields[*columns_.launch], at, "the launch"));
      built_.launches.push_back({event.correlation, launch * columns_.start_unit, launch * columns_.start_unit});
    }
    return {};
  }

  Expected<std::vector<RankTrace>> finish() {
    if (built_.empty()) return fail(where_, "a table of kernels without a row", "a recording in which the GPU works");
    std::vector<RankTrace> traces = built_.finish();
    for (RankTrace& trace : traces) {
      trace.file = where_, trace.tool = columns_.tool;
      trace.gpu = gpus_[trace.device];
    }
    return traces;
  }

 private:
  static const WorkKind* copy_kind(std::string_view name, std::string_view kind) {
    for (const CopyWord& row : copy_words)
      if (lower_case(name).starts_with(row.part)) return &row.kind;
    static constexpr WorkKind copy = WorkKind::memcpy;
    return lower_case(kind).find("memory_copy") != std::string::npos ? &copy : nullptr;
  }

  static std::int64_t whole(
      const std::vector<std::string>& fields, std::optional<std::size_t> column, std::int64_t otherwise) {
    if (!column || *column >= fields.size() || fields[*column].empty()) return otherwise;
    const auto number = finite_number(fields[*column], "", "");
    return number ? static_cast<std::int64_t>(*number) : otherwise;
  }

  /// "NVIDIA H100 80GB HBM3 (1)" of Nsight Systems, "Agent 5" or "5" of rocprof: the last number is the device.
  std::int64_t device_of(const std::string& text) {
    const std::size_t last = text.find_last_of("0123456789");
    if (last == std::string::npos) return 0;
    const std::size_t first = text.find_last_not_of("0123456789", last) + 1;
    const std::int64_t device = whole({text.substr(first, last + 1 - first)}, 0, 0);
    const std::size_t bracket = text.rfind(" (");
    if (bracket != std::string::npos && bracket + 2 == first) gpus_[device] = text.substr(0, bracket);
    return device;
  }

  const std::string& where_;
  TableColumns columns_;
  std::size_t width_;  ///< fields of the header
  TraceBuilder built_;
  std::map<std::int64_t, std::string> gpus_;
};

}  // namespace

bool is_trace_table(std::string_view head) {
  std::vector<std::string> names;
  split_line(head.substr(0, head.find('\n')), names);
  return columns_of(names).has_value();
}

Expected<std::vector<RankTrace>> read_trace_table(TimingsStream& stream) {
  std::istream lines(&stream);
  std::string line;
  std::vector<std::string> fields;
  std::getline(lines, line);
  split_line(line, fields);
  const auto columns = columns_of(fields);
  const std::string where = stream.where();
  if (!columns)
    return fail(where, "a table without the columns of a trace",
        "nsys stats --report cuda_gpu_trace --format csv, or rocprofv3 --kernel-trace");
  TraceTable table(where, *columns, fields.size());
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    stream.mark();
    if (line.empty() || line == "\r") continue;
    split_line(line, fields);
    TRY(table.take(fields, number));
  }
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  return table.finish();
}

}  // namespace stepcast::calibrate
