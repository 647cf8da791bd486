// The time of a kernel by a profile: base law times correction, with the interval that held-out measurements gave, and
// what bounds it. Some hundred nanoseconds each.
#pragma once

#include "model/profile/profile.h"
#include "model/profile/query.h"

namespace stepcast {

enum class Bound : std::uint8_t { launch, compute, memory };
const char* to_text(Bound bound);

struct KernelTime {
  Seconds time;
  Spread spread;                 ///< measured over time, 10th and 90th percentile
  Bound bound = Bound::launch;   ///< the largest part of the base law
  Source source = Source::assumed;
  bool extrapolated = false;     ///< outside the shapes that the law's correction has seen
  Seconds cast;                  ///< of it, the cast of x that the query asked for
  const Refinement* behind = nullptr;  ///< the law's figures; lives as long as the profile
};

// With a law at hand; `units` of the GPU the law is for.
KernelTime gemm_time(const RooflineLaw& law, const GpuUnits& units, const GemmQuery& gemm);
KernelTime attention_time(const AttentionLaw& law, const GpuUnits& units, const AttentionQuery& attention);
KernelTime moe_time(const RooflineLaw& law, const GpuUnits& units, const MoeQuery& moe);
KernelTime memory_time(const MemoryLaw& law, const GpuUnits& units, const MemoryQuery& memory);

// With the profile's best law for the query. Empty where it has none: no law of this precision.
std::optional<KernelTime> gemm_time(const Profile& profile, const GemmQuery& gemm);
/// `software` "" takes the law of training, unless it was carried over and another was fitted here; for decode the first.
std::optional<KernelTime> attention_time(const Profile& profile, const AttentionQuery& attention,
                                         std::string_view software = {});
std::optional<KernelTime> moe_time(const Profile& profile, const MoeQuery& moe);
/// The op's own law, else the general one.
KernelTime memory_time(const Profile& profile, const MemoryQuery& memory);

// The base laws alone, without correction: what fits start from.
Seconds base_time(const RooflineLaw& law, const GemmQuery& gemm);
Seconds base_time(const AttentionLaw& law, const AttentionQuery& attention);
Seconds base_time(const RooflineLaw& law, const MoeQuery& moe);
Seconds base_time(const MemoryLaw& law, const MemoryQuery& memory);

}  // namespace stepcast
