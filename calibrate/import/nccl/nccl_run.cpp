#include "calibrate/import/nccl/nccl_run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/text.h"

namespace stepcast::calibrate::nccl {
namespace {

/// "process per GPU", "4 threads per process", "8 GPUs per thread"; with "graph" where the calls were captured.
std::string launch_mode_of(const Run& run) {
  if (run.threads <= 0 || run.gpus <= 0) return run.graph ? "graph" : "";
  std::string mode = "process per GPU";
  if (run.threads > 1) mode = "thread per GPU";
  if (run.gpus > 1) mode = fmt::format("{} GPUs per thread", run.gpus);
  return run.graph ? mode + ", graph" : mode;
}

std::string machine_of(const Run& run) {
  constexpr std::size_t named = 4;
  std::set<std::string> hosts;
  for (const Device& device : run.devices)
    if (!device.host.empty() && device.host != "localhost") hosts.insert(device.host);
  std::vector<std::string> some(
      hosts.begin(), std::next(hosts.begin(), static_cast<std::ptrdiff_t>(std::min(named, hosts.size()))));
  if (hosts.size() > named) some.push_back(fmt::format("and {} more", hosts.size() - named));
  return fmt::format("{}", fmt::join(some, ", "));
}

Expected<MeasurementContext> context_of(const Run& run, const RanksNodes& place, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes) {
  MeasurementContext context = run.context;
  context.launch_mode = launch_mode_of(run);
  context.machine = machine_of(run);
  std::set<std::string> names;
  for (const Device& device : run.devices) names.insert(device.name);
  if (names.size() == 1) context.device = *names.begin();
  if (names.size() > 1) notes.push_back(fmt::format("{}: devices of several names: {}", where, fmt::join(names, ", ")));
  context.gpu = gpu_of_device(context.device);
  TRY(auto merged, merged_context(context, options.context, where));
  // A file that is named "H100-SXM-2x8-..." and lists no device.
  const auto layout = layout_in_name(last_of_path(where));
  if (layout && merged.gpu.empty()) {
    merged.gpu = gpu_of_device(layout->before);
    if (!merged.gpu.empty()) notes.push_back(fmt::format("{}: {}, by the file name", where, merged.gpu));
  }
  for (const std::string& name : names) TRY(check_device(name, merged.gpu, where));
  if (merged.fabric.empty() && place.nodes == 1) merged.fabric = fabric_of_gpu(merged.gpu);
  return merged;
}

/// "8, 16, 32 and 5 more".
std::string some_sizes(const std::vector<double>& sizes) {
  constexpr std::size_t named = 5;
  std::vector<std::string> texts;
  for (const double size : sizes) texts.push_back(fmt::format("{}", size));
  return some_of(texts, named);
}

/// What the rows show that a reader of the times should know.
void note_rows(const Run& run, const std::string& where, std::vector<std::string>& notes) {
  constexpr double far_apart = 2;     // of the two times of a row; they differ by 10-30 % at mid sizes in sound tables
  constexpr double deviation = 1e-2;  // largest that nccl-tests before 2.13 lets pass, for fp16 (deltaMaxValue)
  std::vector<double> apart, wrong;
  std::size_t empty = 0, without = 0;
  std::set<std::string> types;
  for (const Row& row : run.rows) {
    types.insert(row.type);
    if (row.size == 0) {
      ++empty;
      continue;
    }
    if (!row.out_of_place) {
      ++without;
      continue;
    }
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half && (*half)->wrong.value_or(0) > deviation) {
        wrong.push_back(row.size);
        break;
      }
    if (!row.in_place || row.in_place->time_us.value == 0) continue;
    const double ratio = row.in_place->time_us.value / row.out_of_place->time_us.value;
    if (ratio > far_apart || ratio < 1 / far_apart) apart.push_back(row.size);
  }
  if (empty > 0) notes.push_back(fmt::format("{}: {} rows of size 0 left out", where, empty));
  if (without > 0) notes.push_back(fmt::format("{}: {} rows without an out-of-place time left out", where, without));
  if (!wrong.empty()) notes.push_back(fmt::format("{}: the results were wrong at {} bytes", where, some_sizes(wrong)));
  if (run.out_of_bounds > 0)
    notes.push_back(fmt::format("{}: {} values out of bounds by its footer", where, run.out_of_bounds));
  if (!apart.empty())
    notes.push_back(
        fmt::format("{}: in place takes less than half or more than twice the out-of-place time at {} bytes: "
                    "the latter is taken",
            where, some_sizes(apart)));
  if (types.size() > 1) notes.push_back(fmt::format("{}: rows of {} in one table", where, fmt::join(types, ", ")));
  for (const std::string& variable : run.forced) notes.push_back(fmt::format("{}: measured with {}", where, variable));
}

/// A table that was cut between two rows still reads; the sweep that its header asks for shows it.
void note_missing_end(const Run& run, const std::string& where, std::vector<std::string>& notes) {
  double most = 0;
  for (const Row& row : run.rows) most = std::max(most, row.size);
  // The last step may not reach the end, and sizes are rounded down to whole elements.
  constexpr double steps_factor = 2;
  if (run.most_bytes > steps_factor * most)
    notes.push_back(fmt::format("{}: asked for up to {} bytes, the rows end at {}", where, run.most_bytes, most));
}

}  // namespace

Expected<void> add_run(Measurements& into, const Run& run, const std::string& where, const ImportOptions& options) {
  const bool any =
      std::any_of(run.rows.begin(), run.rows.end(), [](const Row& r) { return r.size > 0 && r.out_of_place; });
  if (!any) return fail(where, "no row with a size and an out-of-place time", "rows of nccl-tests with sizes above 0");
  for (const Row& row : run.rows)
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half && row.size > 0 && (*half)->time_us.value <= 0)
        return fail(row.where, fmt::format("{} us for {} bytes", (*half)->time_us.value, row.size), "a time above 0");
  TRY(const auto ratio, check_rows(run));
  TRY(const auto parts, parts_of(run));
  if (ratio.high < 0.25)
    return fail(
        where, "busbw is 0 in every row: one rank by itself", "nccl-tests built with MPI=1, or -g for several GPUs");
  TRY(const auto kind, choose_kind(run, possible_kinds(run, ratio, parts), where, options, into.notes));
  TRY(const auto place, place_ranks(run, kind, where, options, into.notes));
  TRY(const auto context, context_of(run, place, where, options, into.notes));
  note_rows(run, where, into.notes);
  note_missing_end(run, where, into.notes);
  const int index = context_index(into, context);
  for (const Row& row : run.rows) {
    if (row.size == 0 || !row.out_of_place) continue;
    Measurement measurement;
    measurement.what = CollectiveQuery{kind.kind, place.ranks, place.nodes, Bytes(row.size)};
    measurement.time = Seconds(row.out_of_place->time_us.value * 1e-6);
    measurement.low = Seconds(row.out_of_place->least_us * 1e-6);
    measurement.high = Seconds(row.out_of_place->most_us * 1e-6);
    measurement.repeats = std::max(run.iterations, 1);
    measurement.context = index;
    into.rows.push_back(measurement);
  }
  return {};
}

}  // namespace stepcast::calibrate::nccl
