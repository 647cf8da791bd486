// Nsight Systems' kernel summaries: nsys stats --report cuda_gpu_kern_sum (also with :nvtx-name) or nvtx_kern_sum, or
// the trace cuda_gpu_trace, with --format csv or json. They hold the names of kernels and NVTX ranges, not shapes: rows
// come only of ranges that say them, as torch.autograd.profiler.emit_nvtx(record_shapes=True) writes and people may
// ("gemm m=4096 n=4096 k=4096 dtype=bf16"). All other kernels are left out, with their share of the time.
#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/delimited.h"
#include "calibrate/rows/device_name.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/profilers/kernel_name.h"
#include "calibrate/import/tables/plain_row.h"
#include "calibrate/import/profilers/torch_op.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// One line of a summary.
struct NsysRow {
  std::string where, kernel, range, device;
  double total_s = 0, median_s = 0, low_s = 0, high_s = 0;
  double calls = 1;
};

/// Which columns there are: a report has each in one unit, named with it ("Total Time (ns)"), whatever --timeunit was.
struct NsysColumn {
  std::size_t at;
  double seconds;
};

std::optional<NsysColumn> nsys_time_column(const DelimitedTable& table, std::string_view title) {
  constexpr std::pair<std::string_view, double> units[] = {{" (ns)", 1e-9}, {" (us)", 1e-6}, {" (\xCE\xBCs)", 1e-6},
      {" (\xC2\xB5s)", 1e-6}, {" (ms)", 1e-3}, {" (s)", 1}, {" (sec)", 1}};
  for (const auto& [unit, seconds] : units)
    if (const auto at = table.find(fmt::format("{}{}", title, unit))) return NsysColumn{*at, seconds};
  return std::nullopt;
}

std::optional<std::size_t> first_column(const DelimitedTable& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto at = table.find(name)) return at;
  return std::nullopt;
}

struct NsysColumns {
  std::optional<NsysColumn> total, median, mean, low, high, duration;
  std::optional<std::size_t> name, range, calls, device;
};

NsysColumns nsys_columns(const DelimitedTable& table) {
  NsysColumns c;
  c.total = nsys_time_column(table, "Total Time");
  c.median = nsys_time_column(table, "Med");
  c.mean = nsys_time_column(table, "Avg");
  c.low = nsys_time_column(table, "Min");
  c.high = nsys_time_column(table, "Max");
  c.duration = nsys_time_column(table, "Duration");
  c.name = first_column(table, {"Name", "Kernel Name"});
  c.range = first_column(table, {"NVTX Range", "Range"});
  c.calls = first_column(table, {"Instances", "Kern Inst"});
  c.device = first_column(table, {"Device"});
  return c;
}

/// nsys prints what it does before the header.
std::optional<std::pair<std::size_t, std::size_t>> nsys_header(std::string_view text) {
  for (std::size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view here = text.substr(begin, end - begin);
    const bool times =
        here.find("Total Time (") != std::string_view::npos || here.find("Duration (") != std::string_view::npos;
    if (times && here.find("Name") != std::string_view::npos) return std::pair{begin, line};
    begin = end + 1;
  }
  return std::nullopt;
}

/// The JSON form as the CSV form that it mirrors, so that one reader does both: keys are the columns.
Expected<std::string> csv_of_nsys_json(std::string_view text, const std::string& where) {
  using Rows = nlohmann::ordered_json;
  const Rows rows = Rows::parse(text.begin(), text.end(), nullptr, false);
  if (rows.is_discarded() || !rows.is_array() || rows.empty() || !rows[0].is_object())
    return fail(where, "not a list of objects as JSON", "nsys stats --report cuda_gpu_kern_sum --format json");
  const auto quoted = [](std::string field) {
    for (std::size_t at = field.find('"'); at != std::string::npos; at = field.find('"', at + 2))
      field.insert(at, 1, '"');
    std::replace_if(
        field.begin(), field.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return '"' + field + '"';
  };
  std::string csv;
  for (const auto& [key, value] : rows[0].items()) csv += (csv.empty() ? "" : ",") + quoted(key);
  for (const Rows& row : rows) {
    if (!row.is_object() || row.size() != rows[0].size())
      return fail(where, "rows with other keys than the first", "a whole report of nsys");
    std::string line;
    for (const auto& [key, first] : rows[0].items()) {
      if (!row.contains(key)) return fail(where, fmt::format("a row without '{:.40}'", key), "a whole report of nsys");
      const Rows& value = row[key];
      if (!line.empty()) line += ',';
      line += quoted(value.is_string() ? value.get<std::string>() : value.dump());
    }
    csv += '\n' + line;
  }
  return csv;
}

Expected<NsysRow> nsys_row(const DelimitedTable& table, const NsysColumns& columns, std::size_t row) {
  NsysRow out;
  out.where = table.where(row);
  const auto seconds = [&](const std::optional<NsysColumn>& column) -> Expected<double> {
    if (!column || table.text(row, column->at).empty()) return 0.0;
    TRY(const auto value, table.number(row, column->at));
    if (value < 0)
      return fail(out.where, fmt::format("time {} in column '{}'", value, table.columns()[column->at]), "times from 0");
    return value * column->seconds;
  };
  const std::pair<double NsysRow::*, const std::optional<NsysColumn>*> times[] = {
      {&NsysRow::total_s, columns.total ? &columns.total : &columns.duration},
      {&NsysRow::median_s, columns.median ? &columns.median
                           : columns.mean ? &columns.mean
                                          : &columns.duration},
      {&NsysRow::low_s, &columns.low}, {&NsysRow::high_s, &columns.high}};
  for (const auto& [member, column] : times) {
    TRY(out.*member, seconds(*column));
  }
  if (columns.calls) {
    TRY(const auto calls, table.number(row, *columns.calls));
    if (!(calls >= 1 && calls < 1e12))
      return fail(out.where, fmt::format("{} instances", calls), "a whole number from 1");
    out.calls = calls;
  }
  out.kernel = table.text(row, *columns.name);
  if (columns.range) out.range = table.text(row, *columns.range);
  if (columns.device) out.device = table.text(row, *columns.device);
  out.device.resize(std::min(out.device.find(" ("), out.device.size()));  // "NVIDIA H100 PCIe (0)"
  return out;
}

/// "[[4096, 1024], [], [1024, 512]]" after "sizes = ", as emit_nvtx writes it; nothing where the brackets do not close.
std::optional<std::vector<std::vector<double>>> sizes_in_range(std::string_view text) {
  std::vector<std::vector<double>> sizes;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' && ++depth == 2) sizes.emplace_back();
    if (c == ']' && --depth == 0) return sizes;
    if (depth != 2 || std::isdigit(static_cast<unsigned char>(c)) == 0) continue;
    double size = 0;
    const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), size, std::chars_format::fixed);
    sizes.back().push_back(size);
    at = static_cast<std::size_t>(parsed.ptr - text.data()) - 1;
  }
  return std::nullopt;
}

/// ":aten::mm, seq = 3, sizes = [[..], [..]], op_id = 7" or "gemm m=4096 n=..."; nothing where the range says no shape.
std::optional<Query> query_of_range(const std::string& range, const NsysRow& row, const ImportOptions& options) {
  const auto type = element_type_of_kernel(row.kernel);
  if (const std::size_t at = range.find("sizes = "); at != std::string::npos) {
    TorchCall call;
    const std::size_t begin = range.find("aten::");
    if (begin == std::string::npos || begin > at) return std::nullopt;
    call.name = range.substr(begin, range.find_first_of(", ", begin) - begin);
    const auto sizes = sizes_in_range(std::string_view(range).substr(at));
    if (!sizes) return std::nullopt;
    call.sizes = *sizes;
    auto said = type;
    if (!said) said = element_type_of(options.precision);
    return query_of(call, said).query;
  }
  PlainFields fields;
  bool first = true;
  for (std::size_t begin = range.find_first_not_of(" :/"); begin != std::string::npos && begin < range.size();) {
    const std::size_t end = std::min(range.find_first_of(" ,;", begin), range.size()), equal = range.find('=', begin);
    if (equal != std::string::npos && equal < end)
      fields[lower_case(range.substr(begin, equal - begin))] = range.substr(equal + 1, end - equal - 1);
    else if (first) fields["op"] = lower_case(range.substr(begin, end - begin));
    first = false;
    begin = range.find_first_not_of(" ,;", end);
  }
  if (fields.size() < 3) return std::nullopt;
  if (type && !find_field(fields, "dtype")) fields["dtype"] = to_text(type->precision);
  auto query = plain_query(fields, row.where, options);
  if (!query && fields.erase("op") > 0) query = plain_query(fields, row.where, options);
  return query ? std::optional(*query) : std::nullopt;
}

/// A range holds every kernel under it; the shape is that of the kernels that do this kind of work.
bool does_work_of(const Query& query, std::string_view kernel) {
  const std::string_view kind = kernel_class(kernel);
  if (std::holds_alternative<GemmQuery>(query)) return kind == "gemm" && kernel.find("educe") == std::string_view::npos;
  if (std::holds_alternative<AttentionQuery>(query)) return kind == "attention";
  if (std::holds_alternative<CollectiveQuery>(query)) return kind == "collective";
  return std::holds_alternative<MemoryQuery>(query) && kind != "gemm" && kind != "attention" && kind != "collective";
}

/// A range of its own column, or before the kernel's name: "range/kernel".
std::optional<Query> query_of_row(const NsysRow& row, const ImportOptions& options) {
  if (!row.range.empty()) return query_of_range(row.range, row, options);
  if (row.kernel.find('=') == std::string::npos) return std::nullopt;
  return query_of_range(row.kernel.substr(0, row.kernel.rfind('/')), row, options);
}

Expected<Measurements> read_nsys_rows(const DelimitedTable& table, const ImportOptions& options) {
  const NsysColumns columns = nsys_columns(table);
  if (!columns.name || !(columns.total || columns.duration))
    return fail(
        table.where(), "no columns Name and Total Time (ns)", "nsys stats --report cuda_gpu_kern_sum --format csv");
  Measurements out;
  ShapelessKernels shapeless;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    TRY(const auto row, nsys_row(table, columns, i));
    shapeless.add_total(row.total_s);
    const auto query = query_of_row(row, options);
    if (query && !does_work_of(*query, row.kernel)) {
      shapeless.leave_out(row.kernel, "their ranges name the shape of other work", row.total_s);
      continue;
    }
    if (!query || !(row.median_s > 0)) {
      shapeless.leave_out(
          row.kernel, "summaries hold no shapes (say them in NVTX ranges, or import a PyTorch trace)", row.total_s);
      continue;
    }
    MeasurementContext context = context_of_device(row.device);
    context.software = "Nsight Systems";
    TRY(const auto merged, merged_context(context, options.context, row.where));
    if (merged.gpu.empty()) return tl::unexpected(gpu_missing(merged, row.where));
    Measurement measurement{
        *query, Seconds(row.median_s), Seconds(row.low_s), Seconds(row.high_s), context_index(out, merged)};
    measurement.repeats = static_cast<int>(std::min(row.calls, 1e9));
    out.rows.push_back(std::move(measurement));
  }
  out.notes = shapeless.notes(std::string(last_of_path(table.where())));
  return out;
}

}  // namespace

int recognise_nsys(std::string_view text, const std::string&) {
  if (stripped(text.substr(0, 64)).starts_with('['))
    return text.find("\"Total Time (") != std::string_view::npos ? 90 : 0;
  constexpr std::size_t before_the_header = 65536;
  return nsys_header(text.substr(0, before_the_header)) ? 95 : 0;
}

Expected<Measurements> read_nsys(std::string_view text, const std::string& where, const ImportOptions& options) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '[') {
    TRY(const auto csv, csv_of_nsys_json(text, where));
    const auto table = DelimitedTable::parse(csv, where);
    return table ? read_nsys_rows(*table, options) : Expected<Measurements>(tl::unexpected<Error>(table.error()));
  }
  const auto header = nsys_header(text);
  if (!header)
    return fail(where, "no header with Name and Total Time", "nsys stats --report cuda_gpu_kern_sum --format csv");
  TRY(const auto table, DelimitedTable::parse(text.substr(header->first), where, header->second));
  return read_nsys_rows(table, options);
}

}  // namespace stepcast::calibrate
