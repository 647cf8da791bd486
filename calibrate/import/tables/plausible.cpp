#include "calibrate/import/tables/plausible.h"

#include "model/catalog.h"

namespace stepcast::calibrate {
namespace {

/// Boost clocks exceed those that datasheets count with by some percent.
constexpr double clock_margin = 1.05;
/// A working set of this many times the L2 cache comes from device memory at each repeat.
constexpr double caches_missed = 2;

struct WorkOfRow {
  Flops flops;
  Bytes bytes;
  Precision precision = Precision::bf16;
};

WorkOfRow work_of(const GemmQuery& gemm) { return {flops_of(gemm), bytes_of(gemm), gemm.precision}; }
WorkOfRow work_of(const AttentionQuery& a) {
  // A backward pass reads more than this; its forward FLOPs are a lower limit too.
  return {forward_flops_of(a), bytes_of(a), a.precision};
}
/// How many experts' weights a skewed router touches is not known, nor whether an expert has a gate: two products of
/// three.
WorkOfRow work_of(const MoeQuery& moe) { return {flops_of(moe) * (2.0 / 3), Bytes(0), moe.precision}; }
WorkOfRow work_of(const MemoryQuery& memory) { return {Flops(0), bytes_of(memory), Precision::fp32}; }
/// Not bounded by the GPU's own memory or arithmetic.
template <typename Query> WorkOfRow work_of(const Query&) { return {}; }

}  // namespace

std::string beyond_datasheet(const Measurement& measurement, const std::string& gpu) {
  const auto row = find_row(built_in().gpus, gpu, "gpu");
  if (!row) return {};
  const WorkOfRow work = std::visit([](const auto& query) { return work_of(query); }, measurement.what);
  const FlopsPerSecond peak = (*row)->peak[static_cast<int>(work.precision)];
  if (peak > FlopsPerSecond(0) && work.flops / measurement.time > peak * clock_margin)
    return "more FLOP/s than the chip has";
  const bool from_memory = work.bytes > (*row)->l2 * caches_missed;
  if (from_memory && work.bytes / measurement.time > (*row)->memory_bandwidth * clock_margin)
    return "more bytes/s than the memory has";
  return {};
}

}  // namespace stepcast::calibrate
