#include "calibrate/fit/fit_convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "calibrate/fit/numeric/fold_ratios.h"
#include "calibrate/fit/numeric/holdout.h"
#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

using ConvolutionKey = std::array<double, 3>;
ConvolutionKey convolution_key(const ChannelConvolution& s) { return {s.sequences, s.positions, s.channels}; }

struct TimedConvolution {
  ChannelConvolution shape;
  double seconds = 0;
  std::size_t fold = 0;
};
using ConvolutionShapes = std::vector<const TimedConvolution*>;

// t0, what a whole block adds to it, seconds per state, and per state and position, softness.
constexpr FitParameter launch_time{3e-6, 1e-7, 1e-3}, block_time{1e-6, 1e-13, 1e-4}, state_time{5e-10, 1e-13, 1e-6},
    position_time{2.5e-10, 1e-13, 1e-7}, sharpness{1.5, 0.9, 7.5};
/// Below the shortest time that a profile holds.
constexpr double no_time_below = 1e-12;
// Triton's kernel takes any number of positions. TensorRT-LLM's reads eight of bf16 in each of 64 threads at a time, in
// sequences that are longer than that in each of 128 (NVIDIA/TensorRT-LLM
// cpp/tensorrt_llm/kernels/causalConv1d/causalConv1d.cu, causal_conv1d_fwd_dispatch); chunks of 512 fit its times
// better than those of 1024.
constexpr double whole_chunks[] = {1, 512};
// The state that a law speaks of.
constexpr double state_channels = 128;

bool is_of_words(const ScanLaw& law) { return law.function == word_convolution; }

/// Kernels of words know neither blocks nor chunks.
std::vector<FitParameter> constants_of(const ScanLaw& law) {
  if (is_of_words(law)) return {launch_time, state_time, sharpness};
  FitParameter chunk = position_time;
  for (double* size : {&chunk.start, &chunk.low, &chunk.high}) *size *= law.positions;
  return {launch_time, block_time, state_time, chunk, sharpness};
}

ScanLaw with_constants(ScanLaw law, std::span<const double> p) {
  const auto seconds = [](double value) { return Seconds(value < no_time_below ? 0 : value); };
  law.t0 = seconds(p[0]), law.softness = p.back();
  if (is_of_words(law)) {
    law.state = seconds(p[1]);
  } else {
    law.first_chunk = seconds(p[1]), law.state = seconds(p[2]), law.chunk = seconds(p[3]);
  }
  return law;
}

ScanLaw fit_convolution(ScanLaw form, const ConvolutionShapes& shapes) {
  std::vector<double> measured;
  for (const TimedConvolution* one : shapes) measured.push_back(one->seconds);
  std::optional<Fit> best;
  ScanLaw law;
  for (const double whole : whole_chunks) {
    if (is_of_words(form) && whole > 1) continue;
    form.positions = whole;
    const auto model = [&](std::span<const double> parameters, std::span<double> predicted) {
      const ScanLaw tried = with_constants(form, parameters);
      for (std::size_t i = 0; i < shapes.size(); ++i)
        predicted[i] = convolution_time(tried, shapes[i]->shape).time.value();
    };
    Fit fit = fit_log_error(model, measured, constants_of(form));
    if (best && fit.loss >= best->loss) continue;
    law = with_constants(form, fit.parameters);
    best = std::move(fit);
  }
  return law;
}

void fit_folds(const std::vector<TimedConvolution>& shapes, FittedConvolution& out) {
  FoldRatios ratios;
  each_fold(shapes, [&](std::size_t fold, const ConvolutionShapes& others, const ConvolutionShapes& held) {
    const ScanLaw law = fit_convolution(out.law, others);
    for (const TimedConvolution* one : held)
      ratios[fold].push_back(one->seconds / convolution_time(law, one->shape).time.value());
  });
  ConvolutionShapes all;
  for (const TimedConvolution& one : shapes) all.push_back(&one);
  out.law = fit_convolution(out.law, all);
  out.law.spread = spread_of(joined(ratios));
  out.law.refinement.held_out = held_out_of(ratios);
}

using ConvolutionTable = std::tuple<std::string, std::string, std::string, std::string, std::string, double>;
using ConvolutionTimes = std::map<ConvolutionKey, std::vector<double>>;

/// By how much the time grows with channels, as a power of them, over neighbours of one length and batch: of kernels
/// that have much to do it is one. nullopt: no such neighbours.
std::optional<double> growth_with_channels(const ConvolutionTimes& timed) {
  constexpr double enough_elements = 4e6, apart = 1.2;
  std::map<std::array<double, 2>, std::vector<std::pair<double, double>>> rows;
  for (const auto& [key, seconds] : timed)
    if (key[0] * key[1] * key[2] >= enough_elements)
      rows[{key[0], key[1]}].emplace_back(key[2], percentile(seconds, 0.5));
  std::vector<double> powers;
  for (const auto& [length, times] : rows) {
    const auto& [fewest, shortest] = times.front();
    const auto& [most, longest] = times.back();
    if (most > apart * fewest) powers.push_back(std::log(longest / shortest) / std::log(most / fewest));
  }
  if (powers.empty()) return std::nullopt;
  return percentile(powers, 0.5);
}

FittedConvolution fitted_convolution(
    const ConvolutionTable& key, const ConvolutionTimes& timed, const std::map<ConvolutionKey, std::size_t>& fold_by) {
  FittedConvolution out;
  double taps = 0;
  std::tie(out.gpu, out.law.function, out.law.kernels, out.release, out.kernel, taps) = key;
  out.law.source = Source::fitted;
  out.law.software = out.law.kernels + " " + out.release + " " + out.kernel;
  out.law.value_size = state_channels, out.law.key_size = taps;
  std::vector<TimedConvolution> shapes;
  for (const auto& [shape, seconds] : timed) {
    shapes.push_back({{shape[0], shape[1], shape[2], taps}, percentile(seconds, 0.5), fold_by.at(shape)});
    out.rows += seconds.size();
  }
  out.shapes = shapes.size();
  fit_folds(shapes, out);
  return out;
}

}  // namespace

ConvolutionFits fit_convolutions(std::span<const ConvolutionTiming> rows) {
  std::map<ConvolutionTable, ConvolutionTimes> tables;
  for (const ConvolutionTiming& row : rows)
    tables[{row.gpu, row.function, row.engine, row.release, row.kernel, row.shape.taps}][convolution_key(row.shape)]
        .push_back(row.time.value());
  ConvolutionFits fits;
  for (auto table = tables.begin(); table != tables.end();) {
    const auto& [key, timed] = *table;
    constexpr double grows = 0.5;
    const auto growth = growth_with_channels(timed);
    if (!growth || *growth > grows) {
      ++table;
      continue;
    }
    ForeignConvolutions foreign{std::get<0>(key), std::get<4>(key), std::get<2>(key) + " " + std::get<3>(key)};
    for (const auto& [shape, seconds] : timed) foreign.rows += seconds.size();
    fits.foreign.push_back(std::move(foreign));
    table = tables.erase(table);
  }
  for (const auto& [key, timed] : tables)
    if (timed.size() >= fewest_convolution_shapes)
      fits.laws.push_back(fitted_convolution(key, timed, folds_like(tables, key)));
  return fits;
}

}  // namespace stepcast::calibrate
