#include "studies/compare/same_run.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "model/base/quantity_text.h"
#include "studies/compare/traced/rank_pace.h"

namespace stepcast::comparison {
namespace {

/// Products that take so many times as long are of another batch, phase or network, whatever the kernels are like.
constexpr double most_times = 4;
/// A forward pass that runs again is a third more; what multiplies more or less than this is another run.
constexpr double most_work = 1.4;
/// Of what was timed: clocks of traces and peaks of GPUs are not that exact.
constexpr double most_of_peak = 1.05;

tl::unexpected<Error> other_run(const std::string& file, const std::string& why, const std::string& hint) {
  return fail(file, why + ": it is of another run", hint);
}

/// What the recorded shapes multiply; 0: too few of the products have one.
double recorded_flops(const TimeSplit& split) {
  constexpr double covered = 0.9;
  double seconds = 0, with_shape = 0, flops = 0;
  for (const SplitProduct& one : split.products) {
    seconds += one.seconds;
    if (one.flops > 0) with_shape += one.seconds, flops += one.flops;
  }
  return with_shape >= covered * seconds ? flops : 0;
}

bool divides(std::size_t a, std::size_t b) { return a > 0 && b > 0 && (a % b == 0 || b % a == 0); }

/// Kernels of a layer run once in each, or several times; some libraries have one kernel of each kind of layer. Those
/// of less than a tenth of attention's time may run otherwise. Recomputation, which either side may have in some of the
/// layers, runs them once more: measured kernels have one name for both, a forecast's say " again".
Expected<void> check_layers(
    const TimeSplit& expected, const TimeSplit& measured, const ExpectedRun& run, const std::string& file) {
  const auto forward = [](const SplitRow& row) {
    return row.kind == WorkKind::attention && !is_backward_attention(row.name);
  };
  std::size_t layers = 0, again = 0, calls = 0;
  double seconds = 0;
  for (const SplitRow& row : expected.rows)
    if (forward(row)) (row.name.find(" again") == std::string::npos ? layers : again) += row.calls;
  for (const SplitRow& row : measured.rows)
    if (forward(row)) seconds += row.flight, calls += row.calls;
  constexpr double least_share = 0.02;  // below, its kernels may have names that no row knows
  if (layers == 0 || calls == 0 || seconds < least_share * measured.compute_flight) return {};
  const auto as_expected = [&](std::size_t count) {
    return (count >= layers && count <= 2 * layers) || divides(count, layers) || divides(count, layers + again);
  };
  if (calls >= layers) {
    if (as_expected(calls)) return {};
    for (const SplitRow& row : measured.rows)
      if (forward(row) && 10 * row.flight >= seconds && as_expected(row.calls)) return {};
  }
  return other_run(file,
      fmt::format("has {} forward kernels of attention, and the forecast has {} layers and micro-batches{}", calls,
          layers, again > 0 ? fmt::format(", and runs {} of them again", again) : ""),
      run.hint);
}

}  // namespace

double shared_with(const RankTrace& trace, const RankTrace& other) {
  const std::set<std::string_view> names(other.names.begin(), other.names.end());
  double all = 0, shared = 0;
  for (const DeviceEvent& event : trace.events) {
    if (!is_compute(event.kind)) continue;
    all += event.end - event.start;
    if (names.contains(trace.names[static_cast<std::size_t>(event.name)])) shared += event.end - event.start;
  }
  return all > 0 ? shared / all : 1;
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
    constexpr double least_shared = 0.5;
    if (const double shared = shared_with(trace, first); shared < least_shared)
      return fail(trace.file,
          fmt::format("is of another job than {}: {:.0f} % of its kernels' time has names that are there, too",
              first.file, 100 * shared),
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

std::string other_own_run(const RankTrace& expected, const RankTrace& measured) {
  if (!measured.is_forecast() || measured.title.empty() || expected.title.empty()) return "";
  const bool sized = !measured.size.empty() && !expected.size.empty();
  if (measured.title == expected.title && (!sized || measured.size == expected.size)) return "";
  const auto words = [&](const RankTrace& trace) { return trace.title + (sized ? "; " + trace.size : ""); };
  return fmt::format("the trace is of another run: {}, not {}", words(measured), words(expected));
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
  const double expects = products(expected), is = products(measured), multiplied = recorded_flops(measured);
  if (multiplied > 0 && run.flops > 0 && (multiplied > most_work * run.flops || run.flops > most_work * multiplied))
    return other_run(trace.file,
        fmt::format("has products that multiply {:.3g} FLOPs, and the forecast {:.3g}", multiplied, run.flops),
        run.hint);
  if (is > 0 && run.flops > most_of_peak * run.peak * is)
    return other_run(trace.file,
        fmt::format("has {} of matrix products: the forecast's {:.3g} FLOPs would run at {:.1f} times the GPU's peak",
            format_seconds(Seconds(is)), run.flops, run.flops / run.peak / is),
        run.hint);
  if (expects > 0 && is > most_times * expects)
    return other_run(trace.file,
        fmt::format("has {} of matrix products, and the forecast {}", format_seconds(Seconds(is)),
            format_seconds(Seconds(expects))),
        run.hint);
  return check_layers(expected, measured, run, trace.file);
}

}  // namespace stepcast::comparison
