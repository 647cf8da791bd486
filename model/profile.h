// Fitted rates with their context, and the rate laws as functions of them: sim evaluates them, calibrate fits the same.
// All times in seconds, sizes in bytes, rates per second. Every law carries the 10th and 90th percentile of
// measured/predicted on held-out data, and where it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/machine.h"
#include "model/units.h"

namespace stepcast {

enum class Source : std::uint8_t { measured, fitted, transferred, datasheet, assumed };
const char* to_text(Source source);

/// Relative interval of measured over predicted, from hold-outs.
struct Spread { double p10 = 1, p90 = 1; };

/// t = t0 + ((F/compute)^p + (B/memory)^p)^(1/p): soft maximum of compute and memory time.
struct RooflineLaw {
  Precision precision = Precision::bf16;
  Seconds t0;
  FlopsPerSecond compute;
  BytesPerSecond memory;
  double softness = 2;
  Source source = Source::assumed;
  Spread spread;
};
Seconds roofline_time(const RooflineLaw& law, Flops flops, Bytes bytes);

/// Fused attention: rate rises with the sequence, rate = compute * s / (s + ramp). Causal FLOPs (half).
/// Backward runs 2.5x the forward FLOPs (five products against two) at `backward_efficiency` of the rate.
struct AttentionLaw {
  Seconds t0;
  FlopsPerSecond compute;
  double ramp = 0;                  ///< positions
  double backward_efficiency = 0.8;
  Source source = Source::assumed;
  Spread spread;
};
Seconds attention_time(const AttentionLaw& law, Flops causal_flops, double sequence, bool backward);

/// Memory-bound kernels: t = t0 + bytes/memory.
struct MemoryLaw {
  Seconds t0;
  BytesPerSecond memory;
  Source source = Source::assumed;
  Spread spread;
};
Seconds memory_time(const MemoryLaw& law, Bytes bytes);

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, send_recv };
const char* to_text(CollectiveKind kind);

/// One size curve, for one kind, tier and number of ranks. x = bytes received per rank, so that x/bandwidth is
/// nccl-tests' bus-bandwidth time for every kind: t = latency + x/bandwidth * (1 + (half/x)^p).
/// Where `points` are given they are interpolated log-log inside their range, the law holds outside.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  FabricKind fabric = FabricKind::nvswitch;
  int ranks = 2;                    ///< all below one instance of the tier
  Seconds latency;
  BytesPerSecond bandwidth;
  Bytes half;
  double p = 1;
  struct Point { Bytes received; Seconds time; };
  std::vector<Point> points;        ///< sorted by size
  Source source = Source::assumed;
  Spread spread;
};
Seconds curve_time(const CollectiveCurve& curve, Bytes received);

/// Across nodes: t = base + per_doubling*log2(nodes) + received/(members_per_node * port * efficiency).
/// Latency is linear in nodes for ring-like kinds when `per_node` is set instead.
struct ScaleOutLaw {
  FabricKind fabric = FabricKind::infiniband;
  double efficiency = 0.9;          ///< of the NIC's line rate
  Seconds base, per_doubling, per_node;
  Source source = Source::assumed;
  Spread spread;
};

/// What a collective takes from the kernels beside it: they run this fraction slower while it is active.
struct OverlapLaw {
  double compute_slowdown = 0.19;   ///< arXiv 2507.03114: 18.9 % mean
  double move_slowdown = 0;
  Source source = Source::assumed;
};

struct Profile {
  std::string id, name, gpu;        ///< catalogue id of the GPU it was measured on
  std::vector<std::string> aliases;
  std::string context;              ///< clocks, driver, library versions, date, burst or sustained
  std::string regime;               ///< "burst" or "sustained"
  std::vector<RooflineLaw> gemm;    ///< one per precision
  AttentionLaw attention;
  MemoryLaw memory;
  std::vector<CollectiveCurve> collectives;
  std::vector<ScaleOutLaw> scale_out;
  OverlapLaw overlap;
  double sustained_slowdown = 1;    ///< factor on compute time when rates were measured in bursts
  Spread step_spread;               ///< of whole steps, from hold-outs
  std::string step_spread_source;
};

Expected<Profile> read_profile(const std::string& text, const std::string& where);
std::string write_profile(const Profile& profile);

}  // namespace stepcast
