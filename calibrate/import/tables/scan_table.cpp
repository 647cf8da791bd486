#include "calibrate/import/tables/scan_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/hyper_connection_table.h"
#include "calibrate/import/tables/table_import.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// What a table calls a scan, and which of its columns hold the sizes. Convolutions run over the channels of keys and
/// queries of each group and of values of each head.
struct ScanColumns {
  std::string_view table;
  const char* function;
  const char *heads, *groups, *value_size, *key_size;
};
constexpr ScanColumns scan_columns[] = {
    {"gdn", "gated_delta", "num_v_heads", "num_k_heads", "head_v_dim", "head_k_dim"},
    {"kda", "kda", "num_v_heads", "num_k_heads", "head_v_dim", "head_k_dim"},
    {"mamba2", "ssd", "nheads", "n_groups", "head_dim", "d_state"},
};

constexpr NumberRange counted{1, 1e9}, timed{1e-6, 1e6};

Expected<const ScanColumns*> columns_of(const std::string& table, const std::string& where) {
  std::vector<std::string> names;
  for (const ScanColumns& row : scan_columns) {
    if (row.table == table) return &row;
    names.emplace_back(row.table);
  }
  return fail(where + ":/op_name", fmt::format("no scan is called '{:.40}'", table), name_hint(table, names));
}

Expected<void> whole(const JsonObject& row) {
  if (auto error = row.first_error()) return tl::unexpected<Error>(std::move(*error));
  return {};
}

Expected<void> read_line(std::string_view line, const std::string& where, ScanTimings& into) {
  JsonObject row(line, where);
  row.allow_unknown_keys();
  std::string table, phase, device;
  row.read("op_name", table);
  TRY(whole(row));
  if (names_hyper_connection(table)) {
    TRY(auto timing, read_hyper_connection_row(row, table, where));
    into.hyper_connections.push_back(std::move(timing));
    return {};
  }
  TRY(const auto columns, columns_of(table, where));
  ScanTiming timing;
  row.read("phase", phase);
  row.read("device", device);
  row.read("framework", timing.engine);
  row.read("version", timing.release);
  row.read("kernel_source", timing.kernel);
  double latency_ms = 0;
  row.read("latency", latency_ms, timed);
  TRY(whole(row));
  const bool convolves = timing.kernel.find("conv1d") != std::string::npos, words = phase == "generation";
  if (phase != "context" && !(convolves && words)) return ++into.other_phases, Expected<void>();
  timing.gpu = gpu_of_device(device);
  if (timing.gpu.empty())
    return fail(where + ":/device", fmt::format("no GPU of the catalogue is '{:.60}'", device), "stepcast list gpus");
  timing.engine = lower_case(timing.engine);
  timing.time = Seconds(latency_ms * millisecond);
  ScanShape& shape = timing.shape;
  shape.function = find_scan(columns->function);
  row.read("batch_size", shape.sequences, counted);
  row.read("seq_len", shape.positions, counted);
  row.read(columns->heads, shape.heads, counted);
  row.read(columns->groups, shape.groups, counted);
  row.read(columns->value_size, shape.value_size, counted);
  row.read(columns->key_size, shape.key_size, counted);
  if (convolves) {
    ConvolutionTiming one;
    row.read("d_conv", one.shape.taps, counted);
    TRY(whole(row));
    one.gpu = timing.gpu, one.engine = timing.engine, one.release = timing.release, one.time = timing.time;
    one.kernel = fmt::format("{} {}", columns->function, timing.kernel);
    one.function = words ? word_convolution : prompt_convolution;
    one.shape.sequences = shape.sequences, one.shape.positions = shape.positions;
    one.shape.channels = 2 * shape.groups * shape.key_size + shape.heads * shape.value_size;
    into.convolutions.push_back(std::move(one));
    return {};
  }
  TRY(whole(row));
  into.rows.push_back(std::move(timing));
  return {};
}

}  // namespace

Expected<ScanTimings> read_scan_table(std::string_view text, const std::string& where) {
  ScanTimings out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = stripped(text.substr(0, end));
    if (!row.empty()) TRY(read_line(row, fmt::format("{}:{}", where, line), out));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace stepcast::calibrate
