// Fitted rates with their context, and the rate laws as functions of them: sim evaluates them, calibrate fits the same.
// All times in seconds, sizes in bytes, rates per second. Every law carries the 10th and 90th percentile of
// measured/predicted on held-out data, and where it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/large_value.h"
#include "model/profile/correction.h"
#include "model/base/error.h"
#include "model/machine/gpu_units.h"
#include "model/machine/machine.h"
#include "model/profile/query.h"
#include "model/profile/step_parameter.h"
#include "model/base/units.h"

namespace stepcast {

enum class Source : std::uint8_t { measured, fitted, transferred, datasheet, assumed };
const char* to_text(Source source);

/// How well a law without correction forecast what it was not fitted on. samples 0: nobody kept it.
struct LawError {
  double mape = 0;  ///< mean of |predicted / measured - 1|
  int samples = 0;
  bool training_size = false;  ///< over shapes as training has them; else over all that were timed
};
/// "off by 5.4 % on 12634 held-out samples of training size".
std::string to_text(const LawError& error);

/// How well a law with its correction forecast what it was not fitted on; all 0 where nobody held anything out.
struct HeldOut {
  double mape = 0, median = 0, p95 = 0;  ///< of |predicted / measured - 1|
  double coverage = 0;                   ///< share of measurements inside their own 80 % interval
  int samples = 0;                       ///< each was held out once
};

/// Whose prices take a law's correction: `stepcast kernel` always does, steps only where the law's row says so.
/// The catalogue keeps corrections of kernels apart from what forecasts read (catalog.h).
enum class CorrectionUse : std::uint8_t { none, kernels, kernels_and_steps };
const char* to_text(CorrectionUse use);

/// What measurements add to a law of few parameters.
struct Refinement {
  CorrectionUse use = CorrectionUse::none;
  Correction correction;  ///< log(time / law)
  Spread spread;          ///< of measured over corrected time; the law's own is that of the law alone
  Correction width;       ///< log of the interval's width over `spread`: some regimes repeat better
  HeldOut held_out;
  /// Of products: what was timed contradicts itself, fewer rows took longer than more. The correction then is bounded
  /// by those of more rows, to which any kernel could be padded.
  bool bounded_by_padding = false;
  std::string software;  ///< whose kernels: "trtllm 1.3.0rc20"; "" = several, or not known
};

/// t = t0 + pn(p; F/compute, B/memory) with pn(p; a, b) = (a^p + b^p)^(1/p): soft maximum of compute and memory time. A
/// result that is added to in fp32 is read and written after the product it belongs to: where `accumulate` is known,
/// its bytes come last, t = t0 + pn(accumulate; pn(p; F/compute, operands/memory), accumulator/memory).
struct RooflineLaw {
  Precision precision = Precision::bf16;
  Seconds t0;
  FlopsPerSecond compute;
  BytesPerSecond memory;
  double softness = 2;
  Source source = Source::assumed;
  Spread spread;
  bool block_scaled = false;  ///< the law of fp8 with a scale per block
  double accumulate = 0;      ///< exponent, 1 = what accumulating moves adds whole; 0 = not known
  /// The compute term is longer by this where rows begin at no multiple of 16 bytes, and of 4; 0 = not known.
  double part_aligned = 0, unaligned = 0;
  Seconds cast_t0 = {};      ///< of the cast of x, where a call includes it: its launch
  BytesPerSecond cast = {};  ///< and its rate; 0 = as fast as `memory`
  Refinement refinement = {};
  LawError alone = {};
};

/// What the time of fused attention depends on besides FLOPs and positions, in one direction. The usual values leave a
/// law as it is.
struct AttentionTerms {
  double causal_ramp = 0;  ///< positions, of causal kernels alone: blocks on the diagonal are computed whole
  double softmax = 0;      ///< elements of a head whose products take as long as the exponential of a score
  double full_rate = 1;    ///< rate without a mask over that of causal kernels
  double traffic = 0.5;    ///< of the time that queries, keys, values and results take once at the law's memory rate
  friend bool operator==(const AttentionTerms&, const AttentionTerms&) = default;
};
/// Backward moves five products' worth for two.
inline constexpr AttentionTerms usual_backward_terms{0, 0, 1, 1.25};

/// Fused attention: rate rises with the sequence, rate = compute * s / (s + ramp). With its terms, for heads of d:
/// t = t0 + F/compute * (1 + softmax/d) / (1 + softmax/128) * (1 + (ramp + causal_ramp)/s) + traffic * bytes/memory.
/// `causal_flops` are those of the FORWARD kernel, half the square counted, in both directions: the law itself charges
/// 2.5x of them to backward (five products against two), at `backward_efficiency` of the rate.
struct AttentionLaw {
  Seconds t0;
  FlopsPerSecond compute;
  double ramp = 0;                   ///< positions
  double backward_efficiency = 0.8;  ///< arXiv 2307.08691 figures 4-6: backward runs slower than forward
  Source source = Source::assumed;
  Spread spread;
  bool decode = false;         ///< one query per sequence against its cache
  bool latent = false;         ///< keys that are values, too (AttentionQuery::latent_values): no other query takes it
  BytesPerSecond memory = {};  ///< its queries, keys, values and results; 0 = not counted
  AttentionTerms forward = {}, backward = usual_backward_terms;
  Refinement refinement = {};
  LawError alone = {};
};

/// Whose kernels engines have, as their "kernels" say; those of another engine may reduce.
const std::vector<std::string>& kernel_software();

/// A scan (ScanFunction) of N = heads x sequences states over n chunks of a sequence, forward: what chunks need each
/// for itself, pn(softness; t0 + fill * first_chunk, N (state + n * chunk)), and the states handed on from one to the
/// next, pn(2; (n - 1) step, N (n - 1) state_step), where pn(p; a, b) = (a^p + b^p)^(1/p) and `fill` is the first
/// chunk's share that has positions. Other sizes of states or chunks take these times by their FLOPs.
struct ScanLaw {
  std::string function;
  Seconds t0, first_chunk;
  Seconds state, chunk;      ///< per state, and per state and chunk
  Seconds step, state_step;  ///< per chunk, and per state and chunk
  double softness = 1.44;
  double positions = 64, value_size = 128, key_size = 128;  ///< of a chunk and of a state, as measured
  Source source = Source::assumed;
  Spread spread;
  std::string software = {};
  std::string kernels = {};  ///< the engines' whose they are, as those call them: "vllm"; "" = anybody else's
  /// `refinement` is asked at the times of a GPU whose states and chunks take so much less: the one that was timed
  double over_learned = 1;
  Refinement refinement = {};
};

/// What stands around a sublayer of several residual streams (hyper-connections): `pre` makes the coefficients of a
/// position and, of all streams, what the sublayer reads; `post` puts its result back into all of them.
enum class HyperConnectionPart : std::uint8_t { pre, post };

/// One of them, forward, around one sublayer: t = pn(softness; t0 + per_row_byte R, near/near_rate + far/memory), where
/// R are the bytes of a position's streams, `near` are the first bytes that go through memory, at most `near_bytes`,
/// and `far` is the rest. `near_bytes` is a bend that the fit puts where the times have one, no cache: in most laws the
/// first bytes go slower than the others. t0 holds launches and the rounds of Sinkhorn's iteration, 20 of which were
/// timed.
struct HyperConnectionLaw {
  HyperConnectionPart part = HyperConnectionPart::pre;
  Seconds t0, per_row_byte;
  Bytes near_bytes;
  BytesPerSecond near_rate, memory;
  double softness = 1;
  Source source = Source::assumed;
  Spread spread;
  std::string software = {};
  std::string kernels = {};  ///< the engines' whose they are, as those call them: "vllm"; "" = anybody else's
  HeldOut held_out = {};
};

/// Memory-bound kernels: t = t0 + bytes/memory.
struct MemoryLaw {
  Seconds t0;
  BytesPerSecond memory;
  Source source = Source::assumed;
  Spread spread;
  std::string op = {};  ///< id in memory_ops(); "" = any
  Refinement refinement = {};
  LawError alone = {};
};

/// One size curve, for one kind, tier and number of ranks. x = bytes received per rank, so that x/bandwidth is
/// nccl-tests' bus-bandwidth time for every kind: t = latency + x/bandwidth * (1 + (half/x)^p). Curves across nodes
/// speak of one network: that of `network`, or where that is "" of any machine that has no curve of its own. Where
/// `points` are given they are interpolated log-log inside their range; outside, the law continues from their ends.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  FabricKind fabric = FabricKind::nvswitch;
  int ranks = 2;  ///< where nodes == 1: all below one instance of the tier
  Seconds latency;
  BytesPerSecond bandwidth;
  Bytes half;
  double p = 1;
  struct Point {
    Bytes received;
    Seconds time;
  };
  std::vector<Point> points;  ///< sorted by size
  Source source = Source::assumed;
  Spread spread;
  int nodes = 1;             ///< that the ranks stand on, in equal parts
  std::string network = {};  ///< across nodes: id of the machine, or whatever the cluster is called
  HeldOut held_out = {};
  /// How far measured lies from the curve, over sizes: [received, p10, p90], interpolated. Empty: `spread` everywhere.
  struct Width {
    Bytes received;
    Spread spread;
  };
  std::vector<Width> widths = {};
};
Seconds curve_time(const CollectiveCurve& curve, Bytes received);
Spread curve_spread(const CollectiveCurve& curve, Bytes received);

/// All-reduces of one size as engines run them: kernels of their own for small buffers, NCCL's for large ones, as a
/// node of a CUDA graph or launched by the host. Interpolated log-log; beyond the ends the time grows with the buffer.
struct EngineAllReduce {
  std::string software;   ///< "vllm 0.24.0"
  bool captured = false;  ///< as a node of a graph
  int ranks = 2;          ///< of one node
  struct Point {
    Bytes buffer;
    Seconds time;
  };
  std::vector<Point> points;  ///< sorted by size
  Source source = Source::measured;
  Spread spread;
};
Seconds all_reduce_time(const EngineAllReduce& law, Bytes buffer);

/// One direction of an exchange of experts' rows (ExchangeQuery) by one kind of kernels:
/// t = start + per_expert experts + per_row_byte row + pn(softness; per_token tokens / blocks, sent / rate), where a
/// row has hidden x element_bytes and pn(p; a, b) = (a^p + b^p)^(1/p). Rows are sent once to every choice or once to
/// every rank that has one of the chosen experts, and those that stay within `node_ranks` ranks are not counted.
/// Low-latency kernels of DeepEP give the experts to thread blocks, so many to each that the multiprocessors hold all
/// blocks, and each block walks its part of the tokens: few experts leave multiprocessors idle.
struct EngineExchange {
  std::string software;  ///< "sglang 0.5.12"
  ExchangeKernel kernel = ExchangeKernel::low_latency;
  ExchangeDirection direction = ExchangeDirection::dispatch;
  std::int64_t ranks = 8, most_ranks = 8;  ///< that were measured, from and to
  std::int64_t node_ranks = 0;             ///< across nodes: ranks of a node; 0 = within one
  bool once_per_rank = false;
  Seconds start, per_expert, per_row_byte, per_token;
  int most_blocks = 0;  ///< 0: not by experts
  BytesPerSecond rate;  ///< 0: no rows are sent
  double softness = 1;
  double most_tokens = 0;  ///< of a rank, that were measured
  Source source = Source::fitted;
  Spread spread;
  HeldOut held_out;  ///< whole hidden sizes, token counts or rank counts left out
};

/// How the time of one buffer changes when more ranks of one node share it, learned on other systems: time at `to`
/// ranks over time at `from`. Points rise in size; beyond the ends the ratio stays.
struct CollectiveGrowth {
  CollectiveKind kind = CollectiveKind::all_reduce;
  FabricKind fabric = FabricKind::nvswitch;
  int from = 4, to = 8;
  struct Point {
    Bytes buffer;
    double ratio;
  };
  std::vector<Point> points;
  Source source = Source::transferred;
  Spread spread;           ///< of a system that the ratios were not learned on
  std::string learned_on;  ///< "h200-sxm"
};
double growth_at(const CollectiveGrowth& growth, Bytes buffer);

/// Across nodes: t = base + per_doubling*log2(nodes) + received/(members_per_node * port * efficiency), the last term
/// times ramp_of() of the bytes that one port carries. Latency is linear in nodes for ring-like kinds when `per_node`
/// is set instead.
struct ScaleOutLaw {
  FabricKind fabric = FabricKind::infiniband;
  double efficiency = 0.9;  ///< of the NIC's line rate
  Seconds base, per_doubling, per_node;
  Source source = Source::assumed;
  Spread spread;
  Transport transport = Transport::rdma;
  Bytes half = {};      ///< of a port's part of the buffer, at which it takes twice as long as at its full rate
  double exponent = 1;  ///< of the ramp
  /// gathers and scatters take at least this times what NCCL's formula charges for passing every rank; 0 = nothing
  double ring_hops = 0;
  BytesPerSecond cap = {};  ///< most that one connection of a GPU carries, whatever its port; 0 = none
};
/// 1 + (half/part)^exponent.
double ramp_of(const ScaleOutLaw& law, Bytes part);
/// The rate of a level per GPU under this law: that of its ports, or the cap.
BytesPerSecond rate_per_gpu(const ScaleOutLaw& law, const Level& level);

/// What published tables of other clusters say of a network that nobody measured.
ScaleOutLaw usual_scale_out(FabricKind fabric, Transport transport);

/// `members_per_node` ranks of the group share its nodes' ports, one of `port` bytes per second each.
Seconds scale_out_time(
    const ScaleOutLaw& law, Bytes received, std::int64_t nodes, double members_per_node, BytesPerSecond port);

/// What a collective takes from the kernels beside it: they run this fraction slower while it is active.
struct OverlapLaw {
  double compute_slowdown = 0.19;  ///< arXiv 2507.03114: 18.9 % mean
  double move_slowdown = 0;
  Source source = Source::assumed;
};

/// Under which circumstances the tables behind a profile were taken. "" and 0: not known.
struct Conditions {
  LARGE_VALUE(Conditions);
  std::string device, driver, cuda, cublas, nccl, date, launch_mode;
  double sm_clock_mhz = 0, memory_clock_mhz = 0, power_limit_w = 0;
  std::vector<std::string> sources;  ///< a line per table: what it holds, whose it is, how many rows
};

/// The highest rate that was measured of one resource: what a roofline draws.
struct Roof {
  std::string of;                ///< "hbm read", "hbm copy", "l2 read", "host_to_device", a precision: "bf16", ...
  double rate = 0;               ///< bytes per second; of a precision FLOP/s
  std::string regime = "burst";  ///< or "sustained"
};

/// What the host pays to start work, as LaunchQuery defines it; 0 = not measured.
struct HostCosts {
  Seconds stream_kernel, graph_kernel, graph, event;
};

/// Forecasts of steps read the laws of gemm, attention and memory; attention_kernels, memory_ops and moe have one
/// reader, `stepcast kernel` (kernel_law.h), and stand in reports of a profile.
struct Profile {
  LARGE_VALUE(Profile);
  std::string id, name, gpu;  ///< catalogue id of the GPU it was measured on
  std::vector<std::string> aliases;
  std::string context;  ///< clocks, driver, library versions, date, burst or sustained
  std::string regime;   ///< "burst" or "sustained"
  Conditions conditions;
  GpuUnits units;
  std::vector<RooflineLaw> gemm;                ///< one per precision, and one for fp8 with a scale per block
  AttentionLaw attention;                       ///< forward and backward over whole sequences, what training runs
  std::vector<AttentionLaw> attention_kernels;  ///< of other software, and decode
  std::vector<ScanLaw> scans;                   ///< one per function; of others what is usual (scan_law.h)
  /// one per part and engine; of others what is usual (hyper_connection_law.h)
  std::vector<HyperConnectionLaw> hyper_connections;
  MemoryLaw memory;                   ///< of any memory-bound kernel
  std::vector<MemoryLaw> memory_ops;  ///< of single operators
  std::vector<RooflineLaw> moe;       ///< layers of routed experts, one per precision
  std::vector<CollectiveCurve> collectives;
  std::vector<EngineAllReduce> engine_all_reduces;
  std::vector<EngineExchange> engine_exchanges;
  std::vector<CollectiveGrowth> growth;  ///< to rank counts that were not measured
  std::vector<ScaleOutLaw> scale_out;
  OverlapLaw overlap;
  std::vector<Roof> roofs;  ///< measured ones; empty where nobody measured them
  HostCosts host;
  double sustained_slowdown = 1;  ///< factor on compute time when rates were measured in bursts
  std::vector<StepFit> steps;     ///< what measured steps say; one per software, precision and kind of network
  Spread step_spread;             ///< of whole steps without such a fit, from hold-outs
  std::string step_spread_source;
};

/// nullptr when the profile has no law for it. The pointers live as long as the profile.
const RooflineLaw* find_gemm(const Profile& profile, Precision precision, bool block_scaled = false);
const ScaleOutLaw* find_scale_out(const Profile& profile, const Level& level);
/// Of software whose name begins so, at that many ranks, captured in a graph or not. nullptr: nobody timed it.
const EngineAllReduce* find_all_reduce(const Profile& profile, std::string_view software, bool captured, int ranks);

/// The curve of this kind and fabric within a node fitted at `ranks`, else at the nearest rank count (ratio-wise, the
/// larger of two equally near); nullptr when the kind was not measured on the fabric.
const CollectiveCurve* find_curve(const Profile& profile, CollectiveKind kind, FabricKind fabric, int ranks);

/// `spread` as wide as it is for what was fitted elsewhere: laws fitted on one GPU and tried on another of its
/// generation are off by 5 to 9 % on average.
Spread transferred_spread(Spread spread);

/// Adds the precisions of the GPU that the profile lacks, at the bf16 (else fp16) law's share of the datasheet peak.
Profile with_all_precisions(Profile profile, const Gpu& gpu);

/// What `profile`, taken on `from`, says about `to`, a GPU of the same architecture: rates scaled by the datasheets'
/// ratios, latencies kept, every law `transferred` with a wider spread.
Profile scaled_profile(const Profile& profile, const Gpu& from, const Gpu& to);

/// Laws for a GPU that nobody timed: datasheet rates times the efficiencies that are usual elsewhere.
Profile datasheet_profile(const Gpu& gpu);

Expected<Profile> read_profile(const std::string& text, const std::string& where);
std::string write_profile(const Profile& profile);

/// A profile in two files, as the catalogue has it: what forecasts of steps read, and what single kernels are asked for
/// besides. The first is a profile file like any other; the second names the laws that it adds to.
std::string write_step_part(const Profile& profile);
std::string write_kernel_part(const Profile& profile);
/// `profile` with the laws and corrections of its kernel part.
Expected<Profile> with_kernel_part(Profile profile, const std::string& text, const std::string& where);

}  // namespace stepcast
