// Candidates of the phases that look at more than one kernel by itself: long runs, and two things at once.
#include <array>

#include "calibrate/measure/plan/phases.h"

namespace stepcast::calibrate {
namespace {

GemmQuery square_weights(double rows, double size, Precision precision) {
  return {.m = rows, .n = size, .k = size, .precision = precision};
}

MemoryQuery rows_of(const char* op, double rows, double columns) { return {find_memory_op(op), rows, columns, 2}; }

// Five seconds: board power settles within tens of milliseconds, temperature within seconds.
constexpr Seconds run_lasts{5}, turns_last{2};
constexpr double rows_of_runs = 8192;
constexpr std::array sizes_of_runs{8192.0, 14336.0, 4096.0};
constexpr std::array sizes_beside{8192.0, 4096.0};

}  // namespace

std::vector<Shape> compared_shapes() {
  std::vector<Shape> out;
  for (const double size : sizes_beside) out.push_back({size, size, size});
  for (const double size : sizes_of_runs) out.push_back({rows_of_runs, size, size});
  return out;
}

Candidates sustained_candidates(const PhaseContext& context) {
  Candidates out;
  for (const double size : sizes_of_runs) {
    PlannedWork work = sampled_work(square_weights(rows_of_runs, size, context.precision));
    work.mode = WorkMode::sustained;
    work.duration = run_lasts;
    out.push_back(work);
  }
  // Power between the extremes: a product, then what stands between two products of a layer.
  PlannedWork layer;
  layer.mode = WorkMode::alternating;
  layer.duration = turns_last;
  for (const Query& query :
      {Query(square_weights(rows_of_runs, 8192, context.precision)), Query(rows_of("norm", rows_of_runs, 8192)),
          Query(rows_of("swiglu", rows_of_runs, 8192)), Query(rows_of("add", rows_of_runs, 8192))})
    layer.works.push_back({query, usual_source(query), false, {}});
  out.insert(out.begin() + 1, layer);
  return out;
}

/// Each of a pair beside the other: how much a copy takes from a product, and the product from the copy.
Candidates beside_candidates(const PhaseContext& context) {
  constexpr double copied = 256.0 * 1024 * 1024;
  const std::array<Query, 3> copies{rows_of("copy", copied / 2 / 4096, 4096),
      TransferQuery{TransferKind::host_to_device, Bytes(copied)},
      TransferQuery{TransferKind::device_to_host, Bytes(copied)}};
  Candidates out;
  for (const double size : sizes_beside)
    for (const Query& copy : copies) {
      const Query product = square_weights(size, size, context.precision);
      out.push_back(sampled_beside(product, copy));
      out.push_back(sampled_beside(copy, product));
    }
  return out;
}

}  // namespace stepcast::calibrate
