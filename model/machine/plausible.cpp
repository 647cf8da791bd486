#include "model/machine/plausible.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace stepcast {
namespace {

// Catalogue, 2020 to 2026: GPUs have 19 to 15,000 TFLOP/s, 11 to 309 GB, 0.3 to 8 TB/s; links carry 6 to 900 GB/s.
// clang-format off
constexpr PlausibleRange plausible_ranges[] = {
    {"peak", 1e11, 1e18, "one core of a CPU does 1e11 FLOP/s, the fastest GPU of 2026 1.5e16"},
    {"memory", 1e8, 1e14, "GPUs have some gigabytes to terabytes"},
    {"memory_bandwidth", 1e9, 1e15, "one channel of DDR3 carries 10 GB/s, the fastest GPU of 2026 8 TB/s"},
    {"l2", 1e3, 1e12, "level-2 caches have some megabytes"},
    {"scale_up_bandwidth", 1e8, 1e14, "links carry some gigabytes to terabytes per second"},
    {"host_memory", 1e8, 1e16, "hosts have some gigabytes to terabytes"},
    {"host_link", 1e8, 1e14, "one lane of PCIe 2 carries 500 MB/s"},
    {"bandwidth_per_gpu", 1e6, 1e14, "Ethernet of 1995 carries 12.5 MB/s, links within a rack 1 TB/s"},
    {"port_bandwidth", 1e6, 1e14, "Ethernet of 1995 carries 12.5 MB/s, links within a rack 1 TB/s"},
    {"latency", 1e-9, 0.1, "light goes 30 cm in 1 ns and half way around the earth in 70 ms"},
    {"gradient_bucket", 65536, 1e13, "a message of less is all latency, and no software makes buckets of it"},
    {"host_per_launch", 1e-9, 0.01, "a launch is some microseconds"},
    {"host_per_step", 1e-9, 600, "the host's work around a step is some milliseconds"},
    {"launch_gap", 1e-9, 0.1, "a gap between kernels is some microseconds"},
    {"data_wait", 1e-9, 3600, "a loader that keeps a step waiting for an hour is broken"},
    {"workspace", 1, 1e13, "a workspace lies in the GPU's memory"},
    {"framework_memory", 1, 1e13, "it lies in the GPU's memory"},
    {"t0_s", 1e-12, 0.1, "the shortest kernel is some microseconds"},
    {"cast_t0_s", 1e-12, 0.1, "the shortest kernel is some microseconds"},
    {"first_chunk_s", 1e-12, 0.1, "a chunk of a scan takes nanoseconds to microseconds"},
    {"state_s", 1e-12, 0.1, "a state of a scan takes nanoseconds to microseconds"},
    {"chunk_s", 1e-12, 0.1, "a chunk of a scan takes nanoseconds to microseconds"},
    {"step_s", 1e-12, 0.1, "a chunk of a scan takes nanoseconds to microseconds"},
    {"state_step_s", 1e-12, 0.1, "a chunk of a scan takes nanoseconds to microseconds"},
    {"latency_s", 1e-12, 1, "a collective of no bytes is some microseconds"},
    {"base_s", 1e-12, 1, "a collective of no bytes is some microseconds"},
    {"per_doubling_s", 1e-12, 1, "a step of a collective is some microseconds"},
    {"per_node_s", 1e-12, 1, "a step of a collective is some microseconds"},
    {"per_expert_s", 1e-12, 1e-3, "an expert costs an exchange some nanoseconds"},
    {"per_row_byte_s", 1e-15, 1e-3, "a row of some kilobytes passes a GPU in microseconds"},
    {"per_token_s", 1e-12, 1e-3, "a block handles a token in microseconds"},
    {"half_bytes", 1e-3, 1e15, "messages of a petabyte do not exist"},
    {"near_bytes", 1, 1e13, "times bend within some hundred megabytes"},
    {"near_bytes_per_s", 1e8, 1e16, "a level-2 cache of 2026 carries some ten TB/s, and most kernels less"},
    {"l2_bytes", 1e3, 1e12, "level-2 caches have some megabytes"},
    {"compute_flops_per_s", 1e9, 1e18, "one core of a CPU does 1e11 FLOP/s, the fastest GPU of 2026 1.5e16"},
    {"memory_bytes_per_s", 1e8, 1e15, "one channel of DDR3 carries 10 GB/s, the fastest GPU of 2026 8 TB/s"},
    {"cast_bytes_per_s", 1e8, 1e15, "one channel of DDR3 carries 10 GB/s, the fastest GPU of 2026 8 TB/s"},
    {"bandwidth_bytes_per_s", 1e5, 1e14, "Ethernet of 1995 carries 12.5 MB/s, links within a rack 1 TB/s"},
};
// clang-format on

}  // namespace

const PlausibleRange& plausible_range(const std::string& key) {
  const auto* const row = std::find_if(
      std::begin(plausible_ranges), std::end(plausible_ranges), [&](const PlausibleRange& r) { return key == r.key; });
  assert(row != std::end(plausible_ranges));
  return *row;
}

}  // namespace stepcast
