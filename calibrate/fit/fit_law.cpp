#include "calibrate/fit/fit_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"
#include "model/profile/kernel_features.h"
#include "model/profile/kernel_law.h"

namespace stepcast::calibrate {
namespace {

/// Four parameters need no more; the optimiser's time is linear in them.
constexpr std::size_t most_base_samples = 1500;
constexpr std::size_t fewest_samples = 4;
constexpr std::size_t fewest_of_training_size = 16;
/// The exponents that roofline_time evaluates without std::pow.
constexpr std::array exponents{1.0, 1.5, 2.0, 3.0};

template <typename Query> using Samples = std::vector<Sample<Query>>;

/// A parameter with a prior: what is usual, and how many samples' worth of it. Below 1 the one sample's error counts by
/// this share: a hint where samples do not tell, no pull where they do.
struct Prior {
  double usual, weight;
};
constexpr double hint = 0.1;

/// Every n-th, so that the same samples give the same law.
template <typename Query> Samples<Query> thinned(const Samples<Query>& samples) {
  const std::size_t step = (samples.size() + most_base_samples - 1) / most_base_samples;
  if (step <= 1) return samples;
  Samples<Query> out;
  for (std::size_t i = 0; i < samples.size(); i += step) out.push_back(samples[i]);
  return out;
}

/// Robust fit of `law_of(parameters)` with priors as further samples that "measured" the parameter itself.
template <typename Query, typename LawOf>
Fit fit_base(const Samples<Query>& samples, std::span<const FitParameter> parameters, std::span<const Prior> priors,
    LawOf law_of) {
  std::vector<double> measured;
  for (const auto& sample : samples) measured.push_back(sample.time.value());
  std::vector<std::size_t> extra;
  for (std::size_t p = 0; p < priors.size(); ++p)
    for (int i = 0; i < static_cast<int>(std::ceil(priors[p].weight)); ++i)
      extra.push_back(p), measured.push_back(priors[p].usual);
  const auto model = [&](std::span<const double> p, std::span<double> predicted) {
    const auto law = law_of(p);
    for (std::size_t i = 0; i < samples.size(); ++i) predicted[i] = base_time(law, samples[i].query).value();
    for (std::size_t i = 0; i < extra.size(); ++i) {
      const Prior& prior = priors[extra[i]];
      predicted[samples.size() + i] = prior.usual * std::pow(p[extra[i]] / prior.usual, std::min(1.0, prior.weight));
    }
  };
  return fit_log_error(model, measured, parameters);
}

double best_rate(const auto& samples) {
  double best = 1;
  for (const auto& sample : samples) best = std::max(best, flops_of(sample.query).value() / sample.time.value());
  return best;
}

/// The best of the exponents; the one of the fit on all is kept for folds.
template <typename Query, typename Make>
RooflineLaw fit_exponents(const Samples<Query>& samples, std::span<const FitParameter> parameters,
    std::span<const Prior> priors, std::optional<double> exponent, Make make) {
  RooflineLaw best;
  double least = INFINITY;
  for (const double softness : exponents) {
    if (exponent && *exponent != softness) continue;
    const auto law_of = [&](std::span<const double> p) { return make(p, softness); };
    const Fit fit = fit_base(samples, parameters, priors, law_of);
    if (fit.loss < least) least = fit.loss, best = make(fit.parameters, softness);
  }
  return best;
}

RooflineLaw roofline_law(Precision precision, std::span<const double> p, double softness) {
  RooflineLaw law;
  law.precision = precision;
  law.t0 = Seconds(p[0]);
  law.compute = FlopsPerSecond(p[1]);
  law.memory = BytesPerSecond(p[2]);
  law.softness = softness;
  return law;
}

/// One shape could be slow for reasons of its own.
constexpr std::ptrdiff_t fewest_of_term = 2;

/// A term of a product's law that some samples show and others do not.
struct ProductTerm {
  double RooflineLaw::*value;
  FitParameter range;
  bool (*shows)(const GemmQuery& gemm);
};

// Where fits start: on H100 in bf16 accumulating costs pn(1.3; ...), rows of 4 or 8 bytes take 3 times as long, of 2
// bytes 7.5 times (docs/measured.md).
const std::array product_terms{
    ProductTerm{&RooflineLaw::accumulate, {1.5, 1, 8}, [](const GemmQuery& g) { return g.layout == GemmLayout::nt; }},
    ProductTerm{&RooflineLaw::part_aligned, {3, 1, 50},
        [](const GemmQuery& g) { return row_alignment(g) < 16 && row_alignment(g) >= 4; }},
    ProductTerm{&RooflineLaw::unaligned, {7, 1, 100}, [](const GemmQuery& g) { return row_alignment(g) < 4; }}};

RooflineLaw fit_gemm_base(Samples<GemmQuery> samples, const Gpu& gpu, std::optional<double> exponent = {}) {
  const auto large =
      std::count_if(samples.begin(), samples.end(), [](const auto& s) { return of_training_size(s.query); });
  if (static_cast<std::size_t>(large) >= fewest_of_training_size)
    std::erase_if(samples, [](const auto& s) { return !of_training_size(s.query); });
  samples = thinned(samples);
  const Precision precision = samples.front().query.precision;
  const double peak = gpu.peak[static_cast<int>(precision)].value() > 0 ? gpu.peak[static_cast<int>(precision)].value()
                                                                        : best_rate(samples) / 0.8;
  const double bandwidth = gpu.memory_bandwidth.value(), rate = best_rate(samples);
  const bool casts = std::any_of(samples.begin(), samples.end(), [](const auto& s) { return s.query.casts_x; });
  std::vector<FitParameter> parameters{
      {4e-6, 1e-7, 5e-5}, {0.9 * rate, 0.05 * rate, 2 * rate}, {0.85 * bandwidth, 0.75 * bandwidth, bandwidth}};
  // Where casts are timed along, launches of both cannot be told apart by their sum: the product keeps up to 4 us.
  if (casts)
    parameters[0].high = 4e-6, parameters.push_back({0.4 * bandwidth, 0.05 * bandwidth, bandwidth}),
    parameters.push_back({8e-6, 1e-6, 3e-5});
  std::vector<ProductTerm> terms;
  for (const ProductTerm& term : product_terms)
    if (std::count_if(samples.begin(), samples.end(), [&](const auto& s) { return term.shows(s.query); }) >=
        fewest_of_term)
      terms.push_back(term), parameters.push_back(term.range);
  const std::array<Prior, 3> priors{{{3e-6, 1}, {0.75 * peak, 1}, {0.85 * bandwidth, 1}}};
  return fit_exponents(samples, parameters, priors, exponent, [&](std::span<const double> p, double softness) {
    RooflineLaw law = roofline_law(precision, p, softness);
    law.block_scaled = samples.front().query.block_scaled;
    if (casts) law.cast = BytesPerSecond(p[3]), law.cast_t0 = Seconds(p[4]);
    for (std::size_t i = 0; i < terms.size(); ++i) law.*terms[i].value = p[p.size() - terms.size() + i];
    return law;
  });
}

/// The law as it is, with a fitted cast where the samples time one and the law has none.
RooflineLaw kept_gemm_base(Samples<GemmQuery> samples, const Gpu& gpu, RooflineLaw law) {
  law.refinement = {};
  const bool casts = std::any_of(samples.begin(), samples.end(), [](const auto& s) { return s.query.casts_x; });
  if (!casts || law.cast.value() > 0) return law;
  std::erase_if(samples, [](const auto& s) { return !s.query.casts_x; });
  const double bandwidth = gpu.memory_bandwidth.value();
  const std::array<FitParameter, 2> parameters{{{0.4 * bandwidth, 0.05 * bandwidth, bandwidth}, {8e-6, 1e-6, 3e-5}}};
  const auto law_of = [&](std::span<const double> p) {
    RooflineLaw with_cast = law;
    with_cast.cast = BytesPerSecond(p[0]);
    with_cast.cast_t0 = Seconds(p[1]);
    return with_cast;
  };
  return law_of(fit_base(thinned(samples), parameters, {}, law_of).parameters);
}

Flops flops_of(const AttentionQuery& a) { return forward_flops_of(a); }

/// A parameter of an attention law and where it goes.
struct AttentionParameter {
  FitParameter range;
  void (*set)(AttentionLaw& law, double value);
};

/// Which kinds of shapes there are: a term needs some of both sides.
struct AttentionKinds {
  bool masks = false, heads = false, backward = false;
};
AttentionKinds kinds_of(const Samples<AttentionQuery>& samples) {
  constexpr std::ptrdiff_t few = 4;
  constexpr double small_head = 64, usual_head = 128;
  const auto count = [&](auto is) {
    return std::count_if(samples.begin(), samples.end(), [&](const auto& s) { return is(s.query); });
  };
  using A = const AttentionQuery&;
  AttentionKinds kinds;
  kinds.backward = count([](A a) { return makes_gradients(a.pass); }) > 0;
  kinds.masks = count([](A a) { return a.causal; }) >= few && count([](A a) { return !a.causal; }) >= few;
  kinds.heads = count([](A a) { return a.head_dim <= small_head; }) >= few &&
                count([](A a) { return a.head_dim >= usual_head; }) >= few;
  return kinds;
}

/// The terms of AttentionLaw that these samples can tell. Where only causal kernels were timed, what moving and the
/// diagonal take is one ramp.
std::vector<AttentionParameter> attention_parameters(const AttentionKinds& kinds) {
  using Law = AttentionLaw&;
  std::vector<AttentionParameter> out;
  if (kinds.backward) out.push_back({{0.8, 0.3, 1.0}, [](Law l, double v) { l.backward_efficiency = v; }});
  if (kinds.heads) out.push_back({{80, 1, 400}, [](Law l, double v) { l.forward.softmax = v; }});
  if (kinds.heads && kinds.backward) out.push_back({{40, 1, 400}, [](Law l, double v) { l.backward.softmax = v; }});
  if (!kinds.masks) {
    out.push_back({{300, 1, 10000}, [](Law l, double v) { l.ramp = v; }});
    return out;
  }
  out.push_back({{100, 1, 10000}, [](Law l, double v) { l.forward.causal_ramp = v; }});
  out.push_back({{1.1, 0.7, 2}, [](Law l, double v) { l.forward.full_rate = v; }});
  out.push_back({{0.5, 0.01, 5}, [](Law l, double v) { l.forward.traffic = v; }});
  if (!kinds.backward) return out;
  out.push_back({{100, 1, 10000}, [](Law l, double v) { l.backward.causal_ramp = v; }});
  out.push_back({{1.1, 0.7, 2}, [](Law l, double v) { l.backward.full_rate = v; }});
  out.push_back({{2, 0.05, 20}, [](Law l, double v) { l.backward.traffic = v; }});
  return out;
}

AttentionLaw fit_decode_base(const Samples<AttentionQuery>& samples, const Gpu& gpu, double rate) {
  const double bandwidth = gpu.memory_bandwidth.value();
  const std::vector<FitParameter> parameters{
      {1e-5, 1e-6, 16e-6}, {rate, 0.1 * rate, 3 * rate}, {0.8 * bandwidth, 0.3 * bandwidth, bandwidth}};
  const std::array<Prior, 3> priors{{{1e-5, 1}, {rate, 1}, {0.8 * bandwidth, 1}}};
  const auto law_of = [&](std::span<const double> p) {
    AttentionLaw law;
    law.t0 = Seconds(p[0]);
    law.compute = FlopsPerSecond(p[1]);
    law.memory = BytesPerSecond(p[2]);
    law.decode = true;
    law.latent = is_latent(samples.front().query);
    return law;
  };
  return law_of(fit_base(samples, parameters, priors, law_of).parameters);
}

/// At least two blocks of 128 queries for each of some hundred multiprocessors; below, the GPU is partly idle.
bool fills_gpu(const AttentionQuery& a) { return a.batch * a.heads * a.queries / 128 >= 256; }

AttentionLaw fit_attention_base(Samples<AttentionQuery> samples, const Gpu& gpu) {
  const bool decode = samples.front().query.pass == AttentionPass::decode;
  Samples<AttentionQuery> full;
  for (const auto& s : samples)
    if (decode || (s.query.queries >= 512 && fills_gpu(s.query))) full.push_back(s);
  samples = thinned(full.size() >= fewest_of_training_size ? full : samples);
  double rate = 1;
  for (const auto& s : samples) rate = std::max(rate, flops_of(s.query).value() / s.time.value());
  if (decode) return fit_decode_base(samples, gpu, rate);

  const AttentionKinds kinds = kinds_of(samples);
  const std::vector<AttentionParameter> more = attention_parameters(kinds);
  // A call takes 10-16 us in published tables from A100 to B200; a free t0 takes over part of what is the ramp's. Alone
  // in a graph it takes 5.
  std::vector<FitParameter> parameters{{kinds.masks ? 5e-6 : 1e-5, 1e-6, 16e-6}, {rate, 0.1 * rate, 3 * rate}};
  std::vector<Prior> priors{{parameters[0].start, 1}, {rate, 1}};
  for (const AttentionParameter& one : more)
    parameters.push_back(one.range), priors.push_back({one.range.start, kinds.masks ? hint : 1});
  const auto law_of = [&](std::span<const double> p) {
    AttentionLaw law;
    law.t0 = Seconds(p[0]);
    law.compute = FlopsPerSecond(p[1]);
    if (kinds.masks) law.memory = gpu.memory_bandwidth;
    for (std::size_t i = 0; i < more.size(); ++i) more[i].set(law, p[i + 2]);
    return law;
  };
  return law_of(fit_base(samples, parameters, priors, law_of).parameters);
}

RooflineLaw fit_moe_base(Samples<MoeQuery> samples, const Gpu& gpu, std::optional<double> exponent = {}) {
  samples = thinned(samples);
  const double rate = best_rate(samples), bandwidth = gpu.memory_bandwidth.value();
  const std::array<FitParameter, 3> parameters{
      {{2e-5, 1e-6, 1e-3}, {rate, 0.1 * rate, 3 * rate}, {0.7 * bandwidth, 0.2 * bandwidth, bandwidth}}};
  const std::array<Prior, 3> priors{{{2e-5, 1}, {rate, 1}, {0.8 * bandwidth, 1}}};
  return fit_exponents(samples, parameters, priors, exponent, [&](std::span<const double> p, double softness) {
    return roofline_law(samples.front().query.precision, p, softness);
  });
}

MemoryLaw fit_memory_base(const Samples<MemoryQuery>& all, const Gpu& gpu, const MemoryLaw* usual) {
  const Samples<MemoryQuery> samples = thinned(all);
  const double bandwidth = gpu.memory_bandwidth.value();
  const double rate = usual ? usual->memory.value() : 0.8 * bandwidth, start = usual ? usual->t0.value() : 5e-6;
  const std::array<FitParameter, 2> parameters{{{start, 1e-7, 1e-4}, {rate, 0.05 * bandwidth, 2 * bandwidth}}};
  const double weight = usual ? hint : 1;
  const std::array<Prior, 2> priors{{{start, weight}, {rate, weight}}};
  const auto law_of = [](std::span<const double> p) {
    MemoryLaw law;
    law.t0 = Seconds(p[0]);
    law.memory = BytesPerSecond(p[1]);
    return law;
  };
  return law_of(fit_base(samples, parameters, priors, law_of).parameters);
}

std::uint64_t shape_of(const GemmQuery& g) { return hash_of({g.m, g.n, g.k, g.batch, static_cast<double>(g.layout)}); }
std::uint64_t shape_of(const AttentionQuery& a) {
  return hash_of({a.batch, a.queries, a.keys, a.heads, a.kv_heads, a.head_dim, static_cast<double>(a.pass),
      a.causal ? 1.0 : 0.0, a.latent_values});
}
std::uint64_t shape_of(const MoeQuery& m) {
  return hash_of({m.tokens, m.hidden, m.inter, m.topk, m.experts, m.tensor_ways, m.expert_ways, m.skew});
}
std::uint64_t shape_of(const MemoryQuery& m) {
  return hash_of({m.rows, m.columns, m.element_bytes, m.op->reads, m.op->writes});
}

/// Base law on all, refined: the same for every kind. `fit(samples, law so far)`, `features(query, law)`.
template <typename Law, typename Query, typename FitTo, typename Features>
Expected<FittedLaw<Law>> fit_refined(std::span<const Sample<Query>> given, const char* what,
    const RefineOptions& options, FitTo fit, Features features) {
  if (given.size() < fewest_samples)
    return fail(what, fmt::format("{} usable samples", given.size()), fmt::format("at least {}", fewest_samples));
  const Samples<Query> samples(given.begin(), given.end());
  FittedLaw<Law> out{fit(samples, nullptr), 0, 1, {}};
  RefineProblem problem;
  for (const auto& sample : samples) {
    problem.measured.push_back(sample.time.value());
    problem.shape.push_back(shape_of(sample.query));
    const auto row = features(sample.query, out.law);
    problem.width = static_cast<int>(row.size());
    problem.features.insert(problem.features.end(), row.begin(), row.end());
  }
  problem.base = [&](std::span<const std::size_t> kept) {
    Samples<Query> some;
    for (const std::size_t i : kept) some.push_back(samples[i]);
    const Law law = kept.size() == samples.size() ? out.law : fit(some, &out.law);
    std::vector<double> times;
    for (const auto& sample : samples) times.push_back(base_time(law, sample.query).value());
    return times;
  };
  Refined refined = refine(problem, options);
  out.law.refinement = std::move(refined.refinement);
  if (!out.law.refinement.correction.empty()) out.law.refinement.use = CorrectionUse::kernels;
  out.law.alone = {refined.base_mape, static_cast<int>(samples.size())};
  out.law.spread = refined.base_spread;
  out.law.source = Source::fitted;
  out.base_mape = refined.base_mape;
  out.bias = refined.bias;
  out.predicted = std::move(refined.predicted);
  return out;
}

/// Whether the law says of more than a hundredth of the shapes that one with more rows takes less than 1 / 1.25 of the
/// time: tiles explain so much in the tables of bf16, fp8 and nvfp4, whose laws say it of less than a thousandth.
bool contradicts_itself(RooflineLaw law, const GpuUnits& units, std::span<const Sample<GemmQuery>> samples) {
  constexpr double most = 1.25, share = 0.01;
  RooflineLaw bounded = law;
  law.refinement.bounded_by_padding = false, bounded.refinement.bounded_by_padding = true;
  const auto slower = std::ranges::count_if(samples, [&](const auto& sample) {
    return gemm_time(law, units, sample.query).time > gemm_time(bounded, units, sample.query).time * most;
  });
  return static_cast<double>(slower) > share * static_cast<double>(samples.size());
}

std::optional<double> exponent_of(const RooflineLaw* law) { return law ? std::optional(law->softness) : std::nullopt; }

}  // namespace

GpuUnits units_of(const Gpu& gpu) { return {gpu.multiprocessors, gpu.l2}; }

bool of_training_size(const GemmQuery& g) { return g.m >= 512 && g.n >= 1024 && g.k >= 1024; }

namespace {

Expected<FittedLaw<RooflineLaw>> fit_unbounded(
    std::span<const Sample<GemmQuery>> samples, const Gpu& gpu, const RefineOptions& options, const RooflineLaw* keep) {
  return fit_refined<RooflineLaw>(
      samples, "gemm", options,
      [&](const Samples<GemmQuery>& some, const RooflineLaw* law) {
        return keep ? kept_gemm_base(some, gpu, *keep) : fit_gemm_base(some, gpu, exponent_of(law));
      },
      [&](const GemmQuery& query, const RooflineLaw& law) { return gemm_features(query, law, units_of(gpu)); });
}

/// Whether forecasts of held-out shapes are better with a bound by padded rows: where small products are slow in truth,
/// and not by disturbance, they are worse.
bool padding_helps(std::span<const Sample<GemmQuery>> samples, const Gpu& gpu, const RefineOptions& options,
    const RooflineLaw& whole) {
  constexpr std::uint64_t folds = 5;
  RooflineLaw base = whole;
  base.refinement = {};
  double plain = 0, bounded = 0;
  for (std::uint64_t fold = 0; fold < folds; ++fold) {
    Samples<GemmQuery> kept;
    for (const auto& sample : samples)
      if (shape_of(sample.query) % folds != fold) kept.push_back(sample);
    auto fitted = fit_unbounded(kept, gpu, options, &base);
    if (!fitted) return false;
    for (const auto& sample : samples) {
      if (shape_of(sample.query) % folds != fold) continue;
      for (double* sum : {&plain, &bounded}) {
        fitted->law.refinement.bounded_by_padding = sum == &bounded;
        *sum += std::abs(gemm_time(fitted->law, units_of(gpu), sample.query).time / sample.time - 1);
      }
    }
  }
  return bounded < plain;
}

}  // namespace

Expected<FittedLaw<RooflineLaw>> fit_gemm(
    std::span<const Sample<GemmQuery>> samples, const Gpu& gpu, const RefineOptions& options, const RooflineLaw* keep) {
  TRY(auto out, fit_unbounded(samples, gpu, options, keep));
  out.law.refinement.bounded_by_padding =
      contradicts_itself(out.law, units_of(gpu), samples) && padding_helps(samples, gpu, options, out.law);
  return out;
}

Expected<FittedLaw<AttentionLaw>> fit_attention(std::span<const Sample<AttentionQuery>> samples, const Gpu& gpu,
    const RefineOptions& options, const AttentionLaw* keep) {
  return fit_refined<AttentionLaw>(
      samples, "attention", options,
      [&](const Samples<AttentionQuery>& some, const AttentionLaw*) {
        AttentionLaw law = keep ? *keep : fit_attention_base(some, gpu);
        law.refinement = {};
        return law;
      },
      [&](const AttentionQuery& query, const AttentionLaw& law) {
        return attention_features(query, law, units_of(gpu));
      });
}

Expected<FittedLaw<RooflineLaw>> fit_moe(
    std::span<const Sample<MoeQuery>> samples, const Gpu& gpu, const RefineOptions& options) {
  return fit_refined<RooflineLaw>(
      samples, "moe", options,
      [&](const Samples<MoeQuery>& some, const RooflineLaw* law) { return fit_moe_base(some, gpu, exponent_of(law)); },
      [&](const MoeQuery& query, const RooflineLaw& law) { return moe_features(query, law, units_of(gpu)); });
}

Expected<FittedLaw<MemoryLaw>> fit_memory(std::span<const Sample<MemoryQuery>> samples, const Gpu& gpu,
    const RefineOptions& options, const MemoryLaw* usual) {
  return fit_refined<MemoryLaw>(
      samples, "memory-bound operators", options,
      [&](const Samples<MemoryQuery>& some, const MemoryLaw*) { return fit_memory_base(some, gpu, usual); },
      [&](const MemoryQuery& query, const MemoryLaw&) { return memory_features(query, units_of(gpu)); });
}

double sustained_slowdown(const RooflineLaw& burst, const GpuUnits& units, std::span<const Sample<GemmQuery>> sustained,
    Seconds long_enough) {
  std::vector<double> ratios;
  for (const auto& sample : sustained)
    if (of_training_size(sample.query) && sample.time >= long_enough)
      ratios.push_back(sample.time / gemm_time(burst, units, sample.query).time);
  return ratios.empty() ? 1 : std::max(1.0, percentile(ratios, 0.5));
}

}  // namespace stepcast::calibrate
