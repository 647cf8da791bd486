#include "calibrate/import_csv.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/csv.h"

namespace stepcast {
namespace {

/// Reads a table by columns of numbers, rows chosen by columns of text. `make(values)` gives a measurement.
struct TextFilter { std::string column, value; };

template <typename Measurement, typename Make>
Expected<std::vector<Measurement>> import_rows(std::string_view text, const std::string& where,
                                               const std::vector<TextFilter>& filters, const std::vector<std::string>& numbers,
                                               Make make) {
  const auto table = CsvTable::parse(text, where);
  if (!table) return tl::unexpected<Error>(table.error());
  std::vector<std::size_t> at;
  for (const TextFilter& filter : filters) {
    const auto column = table->column(filter.column);
    if (!column) return tl::unexpected<Error>(column.error());
    at.push_back(*column);
  }
  const auto keep = [&](std::size_t row) {
    for (std::size_t i = 0; i < filters.size(); ++i)
      if (table->text(row, at[i]) != filters[i].value) return false;
    return true;
  };
  std::vector<Measurement> measurements;
  std::string bad;
  const auto take = [&](std::size_t row, const std::vector<double>& values) {
    const Measurement measurement = make(values);
    if (!(measurement.time.value() > 0) && bad.empty()) bad = table->where(row);
    measurements.push_back(measurement);
  };
  if (auto done = for_each_row(*table, numbers, keep, take); !done) return tl::unexpected<Error>(done.error());
  if (!bad.empty()) return fail(bad, "a time that is not positive", "times of real calls");
  if (measurements.empty()) {
    std::string wanted;
    for (const TextFilter& filter : filters) wanted += fmt::format("{}{} = {}", wanted.empty() ? "" : ", ", filter.column, filter.value);
    return fail(where, "no rows" + (wanted.empty() ? std::string() : " with " + wanted), "the values are those of the file");
  }
  return measurements;
}

template <typename Measurement>
void append(std::vector<Measurement>& all, std::vector<Measurement> more) {
  all.insert(all.end(), more.begin(), more.end());
}

constexpr double microsecond = 1e-6, millisecond = 1e-3;

}  // namespace

Expected<std::vector<GemmMeasurement>> import_gemm(std::string_view text, const std::string& where, const std::string& column,
                                                   double operand_bytes, bool casts_x) {
  const auto table = CsvTable::parse(text, where);
  if (!table) return tl::unexpected<Error>(table.error());
  const auto at = table->column(column);
  if (!at) return tl::unexpected<Error>(at.error());
  std::vector<GemmMeasurement> gemms;
  const auto timed = [&](std::size_t row) { return !table->text(row, *at).empty(); };
  const auto take = [&](std::size_t, const std::vector<double>& v) {
    gemms.push_back({v[0], v[1], v[2], Seconds(v[3] * microsecond), operand_bytes, 2, casts_x});
  };
  if (auto done = for_each_row(*table, {"m", "n", "k", column}, timed, take); !done) return tl::unexpected<Error>(done.error());
  for (const GemmMeasurement& g : gemms)
    if (!(g.m >= 1 && g.n >= 1 && g.k >= 1 && g.time.value() > 0))
      return fail(where, fmt::format("{} x {} x {} in {} s", g.m, g.n, g.k, g.time.value()), "positive sizes and times");
  return gemms;
}

Expected<std::vector<AttentionMeasurement>> import_attention(std::string_view text, const std::string& where,
                                                             const std::string& collection, int head_dim) {
  return import_rows<AttentionMeasurement>(
      text, where, {{"collection", collection}, {"head_dim", fmt::to_string(head_dim)}, {"step", "0"}},
      {"batch_size", "isl", "num_heads", "time_us"}, [&](const std::vector<double>& v) {
        return AttentionMeasurement{v[0], v[1], v[2], static_cast<double>(head_dim), AttentionPass::forward,
                                    Seconds(v[3] * microsecond)};
      });
}

Expected<std::vector<AttentionMeasurement>> import_attention_rates(std::string_view text, const std::string& where,
                                                                   const std::string& gpu, const std::string& implementation,
                                                                   int head_dim) {
  constexpr double tokens = 16384, hidden = 2048;
  std::vector<AttentionMeasurement> all;
  for (const auto& [name, pass] : {std::pair{"fwd", AttentionPass::forward}, {"fwd+bwd", AttentionPass::forward_and_backward}}) {
    const double products = pass == AttentionPass::forward ? 1 : 3.5;
    auto rows = import_rows<AttentionMeasurement>(
        text, where,
        {{"gpu", gpu}, {"impl", implementation}, {"pass", name}, {"head_dim", fmt::to_string(head_dim)}, {"causal", "1"}},
        {"seqlen", "tflops"}, [&](const std::vector<double>& v) {
          AttentionMeasurement a{tokens / v[0], v[0], hidden / head_dim, static_cast<double>(head_dim), pass, Seconds(0)};
          const double half_square = 2 * a.sequences * a.heads * a.head_dim * a.positions * a.positions;
          a.time = Seconds(products * half_square / (v[1] * 1e12));
          return a;
        });
    if (rows) append(all, std::move(*rows));
  }
  if (all.empty()) return fail(where, fmt::format("no causal rates of {} on {}", implementation, gpu), "names as in the file");
  return all;
}

Expected<std::vector<MemoryMeasurement>> import_pointwise(std::string_view text, const std::string& where,
                                                          const std::string& device, const std::vector<std::string>& ops) {
  constexpr double element = 4;
  std::vector<MemoryMeasurement> all;
  for (const std::string& op : ops) {
    const bool two_operands = op == "add" || op == "mul" || op == "div" || op == "pow";
    const double passes = two_operands ? 3 : 2;  // reads and the write
    auto rows = import_rows<MemoryMeasurement>(
        text, where, {{"op", op}, {"device", device}, {"dtype", "fp32"}}, {"B", "H", "time_us"},
        [&](const std::vector<double>& v) {
          return MemoryMeasurement{Bytes(v[0] * v[1] * element * passes), Seconds(v[2] * microsecond)};
        });
    if (!rows) return rows;
    append(all, std::move(*rows));
  }
  return all;
}

Expected<std::vector<CollectiveMeasurement>> import_nccl_table(std::string_view text, const std::string& where,
                                                               const std::string& system, const std::string& dtype) {
  constexpr std::pair<const char*, CollectiveKind> kinds[] = {{"all_gather", CollectiveKind::all_gather},
                                                             {"reduce_scatter", CollectiveKind::reduce_scatter},
                                                             {"all_reduce", CollectiveKind::all_reduce},
                                                             {"alltoall", CollectiveKind::all_to_all}};
  std::vector<CollectiveMeasurement> all;
  for (const auto& [op, kind] : kinds) {
    auto rows = import_rows<CollectiveMeasurement>(
        text, where, {{"system", system}, {"op", op}, {"dtype", dtype}}, {"num_gpus", "bytes", "latency_ms"},
        [&, kind = kind](const std::vector<double>& v) {
          const int ranks = static_cast<int>(v[0]);
          return CollectiveMeasurement{kind, ranks, 1, Bytes(v[1] * received_share(kind, ranks)), Seconds(v[2] * millisecond)};
        });
    if (rows) append(all, std::move(*rows));
    else if (rows.error().what.find("no rows") == std::string::npos) return rows;
  }
  if (all.empty()) return fail(where, fmt::format("no rows of system '{}' with {}", system, dtype), "names as in the file");
  return all;
}

Expected<std::vector<CollectiveMeasurement>> import_network_profile(std::string_view text, const std::string& where,
                                                                    const std::string& sku) {
  std::vector<CollectiveMeasurement> all;
  for (const auto& [name, kind] :
       {std::pair{"all_reduce", CollectiveKind::all_reduce}, {"send_recv", CollectiveKind::send_recv}}) {
    auto rows = import_rows<CollectiveMeasurement>(
        text, where, {{"sku", sku}, {"collective", name}}, {"num_workers", "devices_per_node", "bytes", "median_ms"},
        [&, kind = kind](const std::vector<double>& v) {
          const int ranks = static_cast<int>(v[0]), nodes = static_cast<int>(std::ceil(v[0] / v[1]));
          return CollectiveMeasurement{kind, ranks, nodes, Bytes(v[2] * received_share(kind, ranks)), Seconds(v[3] * millisecond)};
        });
    if (rows) append(all, std::move(*rows));
    else if (rows.error().what.find("no rows") == std::string::npos) return rows;
  }
  if (all.empty()) return fail(where, fmt::format("no rows of sku '{}'", sku), "names as in the file");
  return all;
}

}  // namespace stepcast
