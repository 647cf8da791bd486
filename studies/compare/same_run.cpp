#include "studies/compare/same_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "model/base/quantity_text.h"

namespace stepcast::comparison {
namespace {

/// Times that differ by more than this are of another batch, phase or network, whatever the kernels are like.
constexpr double most_times = 4;

}  // namespace

double work_of(const TimeSplit& split, WorkKind kind) {
  double seconds = 0;
  for (const SplitRow& row : split.rows)
    if (row.family == SplitFamily::compute && row.kind == kind) seconds += row.flight;
  return seconds;
}

Expected<void> check_one_job(const std::vector<ReadTrace>& traces) {
  const RankTrace& first = traces.front().trace;
  for (const ReadTrace& one : traces) {
    const RankTrace& trace = one.trace;
    if (trace.world != first.world || trace.gpu != first.gpu || trace.tool != first.tool)
      return fail(trace.file,
          fmt::format("is of another job than {}: {} ranks on {} by {}, not {} on {} by {}", first.file, trace.world,
              trace.gpu.empty() ? "GPUs without a name" : trace.gpu, trace.tool, first.world,
              first.gpu.empty() ? "GPUs without a name" : first.gpu, first.tool),
          "traces of the ranks of one run");
    for (const ReadTrace& other : traces)
      if (&other < &one && trace.rank >= 0 && other.trace.rank == trace.rank)
        return fail(trace.file, fmt::format("is of rank {}, as {} is", trace.rank, other.trace.file),
            "one trace for each rank");
  }
  return {};
}

Expected<void> check_network(const TimeSplit& expected, const TimeSplit& measured, const std::string& file) {
  for (const WorkKind kind : {WorkKind::attention, WorkKind::conv, WorkKind::scan}) {
    const double is = work_of(measured, kind), expects = work_of(expected, kind);
    const double share = std::max(is / measured.compute_flight, expects / expected.compute_flight);
    if ((is > 0) != (expects > 0) && share > 0.02)
      return fail(file,
          fmt::format("is of another network than the forecast: {} of {}, the forecast has {}",
              format_seconds(Seconds(is)), to_text(kind), expects > 0 ? format_seconds(Seconds(expects)) : "none"),
          "the network that was trained; without one, stepcast compare TRACE shows what the trace holds");
  }
  return {};
}

Expected<void> check_run(
    const ExpectedRun& run, const RankTrace& trace, const TimeSplit& expected, const TimeSplit& measured) {
  if (!trace.gpu.empty() && !run.gpu.empty()) {
    TRY(calibrate::check_device(trace.gpu, run.gpu, trace.file));
  }
  const auto count = [](const TimeSplit& split) {
    std::size_t calls = 0;
    for (const SplitRow& row : split.rows)
      if (row.family == SplitFamily::exposed) calls += row.calls;
    return calls;
  };
  if (count(expected) > 0 && count(measured) == 0)
    return fail(trace.file,
        fmt::format("has no collective, and the forecast has {} on {} GPUs", count(expected), run.gpus),
        "the --gpus and the split of the run that was traced");
  const auto products = [](const TimeSplit& split) {
    return work_of(split, WorkKind::gemm) + work_of(split, WorkKind::grouped_gemm);
  };
  const double expects = products(expected), is = products(measured);
  if (expects > 0 && is > 0 && (is > most_times * expects || expects > most_times * is))
    return fail(trace.file,
        fmt::format("has {} of matrix products, and the forecast {}: it is of another run", format_seconds(Seconds(is)),
            format_seconds(Seconds(expects))),
        run.hint);
  return {};
}

}  // namespace stepcast::comparison
