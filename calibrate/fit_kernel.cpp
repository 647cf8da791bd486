#include "calibrate/fit_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/robust_fit.h"

namespace stepcast {
namespace {

constexpr std::size_t folds = 4;

/// Fits on three quarters, forecasts the fourth, four times over. `group(sample)` keeps relatives in one fold.
template <typename Sample, typename Group, typename FitTo, typename Predict>
HoldoutError cross_validate(const std::vector<Sample>& samples, Group group, FitTo fit_to, Predict predict) {
  std::vector<double> measured, predicted;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<Sample> kept, held;
    for (const Sample& sample : samples) (fold_of(group(sample), folds) == fold ? held : kept).push_back(sample);
    if (held.empty() || kept.empty()) continue;
    const auto fitted = fit_to(kept);
    for (const Sample& sample : held) {
      measured.push_back(sample.time.value());
      predicted.push_back(predict(fitted, sample).value());
    }
  }
  return holdout_error(measured, predicted);
}

template <typename Sample>
std::vector<double> times_of(const std::vector<Sample>& samples) {
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time.value());
  return times;
}

template <typename Sample, typename Keep>
std::vector<Sample> kept_only(const std::vector<Sample>& samples, Keep keep) {
  std::vector<Sample> kept;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept), keep);
  return kept;
}

tl::unexpected<Error> too_few(const char* what, std::size_t found, std::size_t needed) {
  return fail(what, fmt::format("{} usable samples", found), fmt::format("at least {}", needed));
}

// --- products ---

struct GemmFit {
  RooflineLaw law;
  BytesPerSecond cast{1};
};

Seconds gemm_time(const GemmFit& fit, const GemmMeasurement& gemm) {
  return roofline_time(fit.law, flops_of(gemm), bytes_of(gemm)) + cast_bytes_of(gemm) / fit.cast;
}

GemmFit gemm_fit_of(std::span<const double> p, double softness, const Gpu& gpu) {
  GemmFit fit;
  fit.law.t0 = Seconds(p[0]);
  fit.law.compute = FlopsPerSecond(p[1]);
  fit.law.memory = gpu.memory_bandwidth * p[2];
  fit.law.softness = softness;
  fit.cast = gpu.memory_bandwidth * (p.size() > 3 ? p[3] : 1.0);
  return fit;
}

GemmFit fit_gemm_law(const std::vector<GemmMeasurement>& gemms, const Gpu& gpu) {
  const std::vector<double> times = times_of(gemms);
  double best_rate = 0;
  for (const GemmMeasurement& gemm : gemms) best_rate = std::max(best_rate, flops_of(gemm).value() / gemm.time.value());
  std::vector<FitParameter> parameters{{5e-6, 1e-7, 5e-5}, {0.8 * best_rate, 0.05 * best_rate, 2 * best_rate}, {0.85, 0.75, 1}};
  if (std::any_of(gemms.begin(), gemms.end(), [](const auto& gemm) { return gemm.casts_x; }))
    parameters.push_back({0.4, 0.05, 1});

  GemmFit best;
  double best_loss = INFINITY;
  for (const double softness : {1.0, 1.5, 2.0, 3.0}) {  // the exponents that roofline_time evaluates without std::pow
    const auto model = [&](std::span<const double> p, std::span<double> predicted) {
      const GemmFit fit = gemm_fit_of(p, softness, gpu);
      for (std::size_t i = 0; i < gemms.size(); ++i) predicted[i] = gemm_time(fit, gemms[i]).value();
    };
    const Fit fit = fit_log_error(model, times, parameters);
    if (fit.loss < best_loss) best_loss = fit.loss, best = gemm_fit_of(fit.parameters, softness, gpu);
  }
  return best;
}

// --- attention ---

Seconds attention_time_of(const AttentionLaw& law, const AttentionMeasurement& a) {
  const Seconds forward = attention_time(law, causal_flops_of(a), a.positions, false);
  if (a.pass == AttentionPass::forward) return forward;
  return forward + attention_time(law, causal_flops_of(a), a.positions, true);
}

/// Launch and pre-processing of one call take 10-16 us in published tables from A100 to B200; a free t0 takes over part of
/// what is the ramp's and then overcharges short calls.
constexpr double most_attention_t0 = 16e-6;

AttentionLaw fit_forward(const std::vector<AttentionMeasurement>& samples) {
  double best_rate = 0;
  for (const AttentionMeasurement& a : samples) best_rate = std::max(best_rate, causal_flops_of(a).value() / a.time.value());
  const std::array<FitParameter, 3> parameters{{{1e-5, 1e-6, most_attention_t0}, {best_rate, 0.1 * best_rate, 3 * best_rate}, {300, 1, 10000}}};
  const auto law_of = [](std::span<const double> p) {
    AttentionLaw law;
    law.t0 = Seconds(p[0]);
    law.compute = FlopsPerSecond(p[1]);
    law.ramp = p[2];
    return law;
  };
  const auto model = [&](std::span<const double> p, std::span<double> predicted) {
    const AttentionLaw law = law_of(p);
    for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = attention_time_of(law, samples[i]).value();
  };
  return law_of(fit_log_error(model, times_of(samples), parameters).parameters);
}

double fit_backward_efficiency(AttentionLaw law, const std::vector<AttentionMeasurement>& samples) {
  const std::array<FitParameter, 1> parameters{{{0.8, 0.3, 1.0}}};
  const auto model = [&](std::span<const double> p, std::span<double> predicted) {
    law.backward_efficiency = p[0];
    for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = attention_time_of(law, samples[i]).value();
  };
  return fit_log_error(model, times_of(samples), parameters).parameters[0];
}

/// At least two blocks of 128 queries for each of some hundred multiprocessors; below, the GPU is partly idle.
bool fills_gpu(const AttentionMeasurement& a) { return a.sequences * a.heads * a.positions / 128 >= 256; }

}  // namespace

bool in_training_regime(const GemmMeasurement& g) { return g.m >= 512 && g.n >= 1024 && g.k >= 1024; }

Expected<Fitted<RooflineLaw>> fit_gemm(const std::vector<GemmMeasurement>& gemms, Precision precision, const Gpu& gpu,
                                       Seconds product_t0) {
  const std::vector<GemmMeasurement> samples = kept_only(gemms, in_training_regime);
  if (samples.size() < 16) return too_few("gemm samples with m >= 512, n >= 1024, k >= 1024", samples.size(), 16);
  const auto fit_to = [&](const std::vector<GemmMeasurement>& kept) { return fit_gemm_law(kept, gpu); };
  const auto weight_shape = [](const GemmMeasurement& g) {
    return static_cast<std::size_t>(g.n) * 65537 + static_cast<std::size_t>(g.k);
  };
  Fitted<RooflineLaw> fitted{fit_to(samples).law, cross_validate(samples, weight_shape, fit_to, gemm_time)};
  fitted.law.precision = precision;
  fitted.law.source = Source::fitted;
  fitted.law.spread = fitted.error.spread;
  if (samples.front().casts_x) fitted.law.t0 = std::min(fitted.law.t0, product_t0);
  return fitted;
}

Expected<Fitted<AttentionLaw>> fit_attention(const std::vector<AttentionMeasurement>& attentions) {
  const auto forward = kept_only(attentions, [](const AttentionMeasurement& a) {
    return a.pass == AttentionPass::forward && a.positions >= 512 && fills_gpu(a);
  });
  const auto both = kept_only(attentions, [](const auto& a) { return a.pass == AttentionPass::forward_and_backward; });
  if (forward.size() < 6) return too_few("attention forward samples of 512 positions and more", forward.size(), 6);
  const auto shape = [](const AttentionMeasurement& a) {
    return static_cast<std::size_t>(a.positions * 4099 + a.heads * 131 + a.sequences);
  };
  Fitted<AttentionLaw> fitted{fit_forward(forward), cross_validate(forward, shape, fit_forward, attention_time_of)};
  if (!both.empty()) fitted.law.backward_efficiency = fit_backward_efficiency(fitted.law, both);
  fitted.law.source = Source::fitted;
  fitted.law.spread = fitted.error.spread;
  return fitted;
}

Expected<Fitted<MemoryLaw>> fit_memory(const std::vector<MemoryMeasurement>& kernels) {
  if (kernels.size() < 8) return too_few("memory-bound samples", kernels.size(), 8);
  const auto fit_to = [](const std::vector<MemoryMeasurement>& samples) {
    double best_rate = 0;
    for (const auto& kernel : samples) best_rate = std::max(best_rate, kernel.bytes.value() / kernel.time.value());
    const std::array<FitParameter, 2> parameters{{{5e-6, 1e-8, 1e-4}, {0.8 * best_rate, 0.05 * best_rate, 2 * best_rate}}};
    const auto law_of = [](std::span<const double> p) {
      MemoryLaw law;
      law.t0 = Seconds(p[0]);
      law.memory = BytesPerSecond(p[1]);
      return law;
    };
    const auto model = [&](std::span<const double> p, std::span<double> predicted) {
      const MemoryLaw law = law_of(p);
      for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = memory_time(law, samples[i].bytes).value();
    };
    return law_of(fit_log_error(model, times_of(samples), parameters).parameters);
  };
  const auto size = [](const MemoryMeasurement& kernel) { return static_cast<std::size_t>(kernel.bytes.value()); };
  const auto predict = [](const MemoryLaw& law, const MemoryMeasurement& kernel) { return memory_time(law, kernel.bytes); };
  Fitted<MemoryLaw> fitted{fit_to(kernels), cross_validate(kernels, size, fit_to, predict)};
  fitted.law.source = Source::fitted;
  fitted.law.spread = fitted.error.spread;
  return fitted;
}

double sustained_slowdown(const RooflineLaw& burst, const std::vector<GemmMeasurement>& sustained, Seconds long_enough) {
  std::vector<double> ratios;
  for (const GemmMeasurement& g : sustained) {
    const Seconds expected = roofline_time(burst, flops_of(g), bytes_of(g));
    if (in_training_regime(g) && expected >= long_enough) ratios.push_back(g.time / expected);
  }
  return ratios.empty() ? 1.0 : std::max(1.0, percentile(ratios, 0.5));
}

}  // namespace stepcast
