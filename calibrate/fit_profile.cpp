#include "calibrate/fit_profile.h"

#include <fmt/format.h>

namespace stepcast {
namespace {

/// Pointwise kernels reach 0.74 to 0.92 of the datasheet bandwidth on seven GPUs from P100 to A100 (elementwise tables of
/// sitar-lab/NeuSight 6945927), norms and softmax less; 0.8 stands for the mix of a training step.
constexpr double usual_memory_share = 0.8;

Error named(Error error, const std::string& profile) {
  error.where = profile + ", " + error.where;
  return error;
}

Expected<void> add_gemm(FittedProfile& out, const FitInputs& in) {
  for (const GemmTable& table : in.gemm) {
    // Products of narrower types run on the same launch path: their t0 is the wider type's, where that was fitted.
    const Seconds t0 = out.profile.gemm.empty() ? Seconds(4e-6) : std::min(Seconds(4e-6), out.profile.gemm.front().t0);
    const auto fitted = fit_gemm(table.gemms, table.precision, in.gpu, t0);
    if (!fitted) return tl::unexpected<Error>(named(fitted.error(), in.id));
    out.profile.gemm.push_back(fitted->law);
    out.errors.push_back({fmt::format("gemm {}", to_text(table.precision)), fitted->error});
    for (const Precision copy : table.copies) {
      RooflineLaw law = fitted->law;
      law.precision = copy;
      law.source = Source::transferred;
      out.profile.gemm.push_back(law);
    }
  }
  return {};
}

Expected<void> add_attention(FittedProfile& out, const FitInputs& in) {
  const auto fitted = fit_attention(in.attention);
  if (!fitted) return tl::unexpected<Error>(named(fitted.error(), in.id));
  out.profile.attention = fitted->law;
  out.errors.push_back({"attention", fitted->error});
  return {};
}

Expected<void> add_memory(FittedProfile& out, const FitInputs& in) {
  if (in.memory.empty()) {
    out.profile.memory = {Seconds(2e-6), in.gpu.memory_bandwidth * usual_memory_share, Source::assumed, {0.85, 1.3}};
    return {};
  }
  const auto fitted = fit_memory(in.memory);
  if (!fitted) return tl::unexpected<Error>(named(fitted.error(), in.id));
  out.profile.memory = fitted->law;
  out.errors.push_back({"memory", fitted->error});
  return {};
}

void add_collectives(FittedProfile& out, const FitInputs& in) {
  for (const auto& [fabric, calls] : in.collectives)
    for (auto& fitted : fit_curves(calls, fabric)) {
      out.errors.push_back({fmt::format("{} x{}", to_text(fitted.law.kind), fitted.law.ranks), fitted.error});
      out.profile.collectives.push_back(std::move(fitted.law));
    }
}

}  // namespace

Expected<FittedProfile> fit_profile(const FitInputs& in) {
  FittedProfile out;
  Profile& profile = out.profile;
  profile.id = in.id;
  profile.name = in.name;
  profile.aliases = in.aliases;
  profile.gpu = in.gpu.id;
  profile.context = in.context;
  profile.regime = in.regime;
  profile.sustained_slowdown = in.sustained_slowdown;
  profile.step_spread = in.step_spread;
  profile.step_spread_source = in.step_spread_source;
  if (in.gemm.empty()) return fail(in.id, "no timed matrix products", "at least one table");
  for (const auto add : {add_gemm, add_attention, add_memory})
    if (auto done = add(out, in); !done) return tl::unexpected<Error>(done.error());
  add_collectives(out, in);
  profile.scale_out = in.scale_out;
  // arXiv 2507.03114: compute runs 18.9 % slower on average (40 % at most) beside a collective, on A100, H100 and MI250.
  profile.overlap = {0.19, 0, Source::transferred};
  return out;
}

}  // namespace stepcast
