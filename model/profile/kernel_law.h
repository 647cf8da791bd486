// The time of a kernel by a law of the profile: the one price that `stepcast kernel` and forecasts of steps ask, with
// the interval that held-out measurements gave, and what bounds it. A kernel by itself takes the base law times its
// correction. A step hands in what its program counts, takes the correction only where the law's row says so
// (CorrectionUse), and adds what steps add on top (sim/cost). Some hundred nanoseconds each.
#pragma once

#include "model/profile/profile.h"
#include "model/profile/query.h"

namespace stepcast {

enum class Bound : std::uint8_t { launch, compute, memory };
const char* to_text(Bound bound);

struct KernelTime {
  Seconds time;
  Spread spread;                ///< measured over time, 10th and 90th percentile
  Bound bound = Bound::launch;  ///< the largest part of the base law
  Source source = Source::assumed;
  bool extrapolated = false;  ///< outside the shapes that the law's correction has seen
  Seconds cast;               ///< of it, the cast of x that the query asked for
  bool corrected = false;     ///< the correction is in it
  /// of the law as it was used here, with its correction or without; samples 0: not kept
  LawError error;
  LawError alone;                      ///< of the law without its correction
  const Refinement* behind = nullptr;  ///< the law's figures; lives as long as the profile
};

// A kernel by itself, with a law at hand; `units` of the GPU the law is for.
KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm);
/// Moves other bytes than its operands' type says: of weights that are narrower than what is multiplied.
KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm, Bytes moved);
/// Half of the time that this takes is for the interval, which `spread` leaves out: it stays the law's.
KernelTime attention_time(
    const AttentionLaw& law, const GpuUnits& units, const AttentionQuery& attention, bool spread = true);
KernelTime moe_time(const RooflineLaw& law, const GpuUnits& units, const MoeQuery& moe);
KernelTime memory_time(const MemoryLaw& law, const GpuUnits& units, const MemoryQuery& memory);

/// What a step's program counts of a product: its epilogue and accumulator are in the bytes. What slows steps down may
/// stretch the FLOPs, which is the compute term alone.
struct StepLoad {
  Flops flops;
  Bytes bytes;
};

// The same kernels in a step.
KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm, const StepLoad& load);
/// What a step's program counts of an attention core, of the forward kernel in both directions (AttentionLaw).
struct StepAttention {
  Flops flops;
  double sequence = 1, head_dim = 128;  ///< keys
  Bytes bytes;                          ///< queries, keys, values and results once
  bool causal = true, backward = false;
};
/// No correction applies: a step knows no heads.
KernelTime attention_time(const AttentionLaw& law, const StepAttention& core);
/// Of a step's memory-bound kernel the bytes are known, not rows and columns: no correction applies.
KernelTime memory_time(const MemoryLaw& law, Bytes bytes);

// A kernel by itself with the profile's best law for it. Empty where it has none: no law of this precision.
std::optional<KernelTime> gemm_time(const Profile& profile, const GemmQuery& gemm);
/// `software` "" takes the law of training, unless it was carried over and another was fitted here; for decode the
/// first.
std::optional<KernelTime> attention_time(
    const Profile& profile, const AttentionQuery& attention, std::string_view software = {}, bool spread = true);
std::optional<KernelTime> moe_time(const Profile& profile, const MoeQuery& moe);
/// The op's own law, else the general one.
KernelTime memory_time(const Profile& profile, const MemoryQuery& memory);

// The base laws alone, without correction: what fits start from.
/// `accumulator`: what of a result in fp32 is read and written, not counted in `bytes`.
Seconds roofline_time(const RooflineLaw& law, Flops flops, Bytes bytes, Bytes accumulator = {});
Seconds base_time(const RooflineLaw& law, const GemmQuery& gemm);
Seconds base_time(const AttentionLaw& law, const AttentionQuery& attention);
Seconds base_time(const RooflineLaw& law, const MoeQuery& moe);
Seconds base_time(const MemoryLaw& law, const MemoryQuery& memory);

/// How well the law forecast without its correction, which is what steps take.
LawError error_alone(const LawError& kept, const Refinement& refinement);

}  // namespace stepcast
