#include "calibrate/trace/clock_table.h"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/timings_file.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

enum class ClockColumn : std::uint8_t { gpu, identity, clock, utilization };
// clang-format off
struct ClockColumnName { ClockColumn column; std::string_view name; };
constexpr ClockColumnName clock_columns[] = {{ClockColumn::gpu, "index"}, {ClockColumn::gpu, "gpu"},
    {ClockColumn::identity, "uuid"}, {ClockColumn::identity, "pci.bus_id"},
    {ClockColumn::clock, "clocks.current.sm"}, {ClockColumn::clock, "clocks.sm"}, {ClockColumn::clock, "gfx_clk"},
    {ClockColumn::clock, "gfx_clock"}, {ClockColumn::utilization, "utilization.gpu"}, {ClockColumn::utilization, "gfx"},
    {ClockColumn::utilization, "gfx_util"}};
// clang-format on
/// Below half of its time a GPU is not at work, and its clock says nothing.
constexpr double least_utilization = 50;
constexpr const char* how_to_sample = "nvidia-smi --query-gpu=index,clocks.sm,utilization.gpu --format=csv -lms 100";

/// "1410 MHz", "1410"; nullopt: not known.
Expected<std::optional<double>> cell_number(const std::string& cell, const std::string& where, const char* what) {
  if (cell.empty() || cell.starts_with('[') || cell == "N/A") return std::nullopt;
  TRY(const double number, finite_number(cell.substr(0, cell.find(' ')), where, what));
  return number;
}

/// Without numbers all samples must be of one GPU, and the table must say so.
Expected<void> check_one_gpu(const DelimitedTable& table, std::optional<std::size_t> identity) {
  if (!identity)
    return fail(
        table.where(), "has no column index, and none that says that all samples are of one GPU", how_to_sample);
  std::set<std::string> sampled;
  for (std::size_t row = 0; row < table.rows(); ++row) sampled.insert(table.text(row, *identity));
  if (sampled.size() > 1)
    return fail(
        table.where(), fmt::format("has samples of {} GPUs, and no column index", sampled.size()), how_to_sample);
  return {};
}

}  // namespace

Expected<ClockTable> read_clock_table(const std::string& path) {
  TRY(const auto file, TimingsFile::open(path));
  if (!file.whole())
    return fail(path, "has more than 64 MiB, of which the end would not be read",
        "cut it to the time in which the step ran, below its header");
  TRY(const auto table, DelimitedTable::parse(file.head(), path));
  std::map<ClockColumn, std::size_t> at;
  for (std::size_t i = 0; i < table.columns().size(); ++i)
    for (const ClockColumnName& row : clock_columns)
      if (const std::string name = lower_case(table.columns()[i]); name.substr(0, name.find(' ')) == row.name)
        at.try_emplace(row.column, i);
  if (!at.contains(ClockColumn::clock)) return fail(path, "has no column of clocks", how_to_sample);
  ClockTable made{path, {}, at.contains(ClockColumn::gpu)};
  if (!made.numbered) {
    const auto identity = at.find(ClockColumn::identity);
    TRY(check_one_gpu(table, identity == at.end() ? std::nullopt : std::optional(identity->second)));
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto cell = [&](ClockColumn column) -> Expected<std::optional<double>> {
      const auto place = at.find(column);
      if (place == at.end()) return std::nullopt;
      return cell_number(table.text(row, place->second), table.where(row), "the clock, the GPU or its utilization");
    };
    TRY(const auto clock, cell(ClockColumn::clock));
    TRY(const auto busy, cell(ClockColumn::utilization));
    TRY(const auto gpu, cell(ClockColumn::gpu));
    if (!clock || (made.numbered && !gpu) || (busy && *busy < least_utilization)) continue;
    made.gpus[made.numbered ? static_cast<std::int64_t>(*gpu) : 0].push_back({NAN, *clock});
  }
  if (made.gpus.empty())
    return fail(path, "has no sample of a GPU at work", "samples of the time in which the step ran");
  return made;
}

}  // namespace stepcast::calibrate
