#include "calibrate/fit/fit_hyper_connection.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "calibrate/fit/numeric/fold_ratios.h"
#include "calibrate/fit/numeric/holdout.h"
#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

using MixingKey = std::array<double, 3>;
MixingKey key_of(const HyperConnectionShape& s) { return {s.streams, s.width, s.positions}; }

struct TimedMixing {
  HyperConnectionShape shape;
  double seconds = 0;
  std::size_t fold = 0;
};
using Mixings = std::vector<const TimedMixing*>;

// t0, seconds per byte of a position's streams, the first bytes and the seconds of each, seconds per byte beyond them,
// softness. The bend is searched from the level-2 caches of Hopper and of Blackwell; it ends where the times have it.
constexpr FitParameter t0{5e-6, 1e-8, 1e-3}, per_row_byte{1e-11, 1e-14, 1e-8}, near_time{1e-13, 1e-15, 1e-11},
    far_time{3e-13, 1e-14, 1e-11}, softness{2, 0.7, 10};
constexpr double near_starts[] = {2.5e7, 6.3e7}, least_near = 1e6, most_near = 6.3e8;

HyperConnectionLaw with(HyperConnectionLaw law, std::span<const double> p) {
  const bool lengths = p.size() == 6;
  law.t0 = Seconds(p[0]), law.per_row_byte = Seconds(lengths ? p[1] : 0);
  const auto moving = p.last(4);
  law.near_bytes = Bytes(moving[0]), law.near_rate = BytesPerSecond(1 / moving[1]);
  law.memory = BytesPerSecond(1 / moving[2]), law.softness = moving[3];
  return law;
}

/// Streams of one length do not tell what of the start grows with them: it is all t0's then.
bool tell_lengths_apart(const Mixings& shapes) {
  const auto length = [](const TimedMixing* one) { return one->shape.streams * one->shape.width; };
  return std::ranges::any_of(shapes, [&](const TimedMixing* one) { return length(one) != length(shapes.front()); });
}

HyperConnectionLaw fit_law(const HyperConnectionLaw& form, const Mixings& shapes) {
  std::vector<double> measured;
  for (const TimedMixing* one : shapes) measured.push_back(one->seconds);
  const auto model = [&](std::span<const double> parameters, std::span<double> predicted) {
    const HyperConnectionLaw law = with(form, parameters);
    for (std::size_t i = 0; i < shapes.size(); ++i)
      predicted[i] = hyper_connection_time(law, shapes[i]->shape).time.value();
  };
  Fit best;
  for (const double near : near_starts) {
    std::vector<FitParameter> parameters{t0};
    if (tell_lengths_apart(shapes)) parameters.push_back(per_row_byte);
    parameters.insert(parameters.end(), {{near, least_near, most_near}, near_time, far_time, softness});
    Fit fit = fit_log_error(model, measured, parameters);
    if (best.parameters.empty() || fit.loss < best.loss) best = std::move(fit);
  }
  return with(form, best.parameters);
}

void fit_shapes(const std::vector<TimedMixing>& shapes, FittedHyperConnection& out) {
  FoldRatios ratios;
  each_fold(shapes, [&](std::size_t fold, const Mixings& others, const Mixings& held) {
    const HyperConnectionLaw law = fit_law(out.law, others);
    for (const TimedMixing* one : held)
      ratios[fold].push_back(one->seconds / hyper_connection_time(law, one->shape).time.value());
  });
  Mixings all;
  for (const TimedMixing& one : shapes) all.push_back(&one);
  out.law = fit_law(out.law, all);
  out.law.spread = spread_of(joined(ratios));
  out.law.held_out = held_out_of(ratios);
}

using MixingTable = std::tuple<std::string, HyperConnectionPart, std::string, std::string>;
using MixingTimes = std::map<MixingKey, std::vector<double>>;

FittedHyperConnection fitted_mixing(
    const MixingTable& key, const MixingTimes& timed, const std::map<MixingKey, std::size_t>& fold_by) {
  FittedHyperConnection out;
  std::tie(out.gpu, out.law.part, out.law.kernels, out.release) = key;
  out.law.source = Source::fitted;
  out.law.software = out.law.kernels + " " + out.release;
  std::vector<TimedMixing> shapes;
  for (const auto& [shape, seconds] : timed) {
    const auto& [streams, width, positions] = shape;
    shapes.push_back({{out.law.part, positions, streams, width}, percentile(seconds, 0.5), fold_by.at(shape)});
    out.held_in.push_back({shapes.back().shape, shapes.back().fold});
    out.rows += seconds.size();
  }
  out.shapes = shapes.size();
  fit_shapes(shapes, out);
  return out;
}

std::map<MixingTable, MixingTimes> mixing_tables(std::span<const HyperConnectionTiming> rows) {
  std::map<MixingTable, MixingTimes> tables;
  for (const HyperConnectionTiming& row : rows)
    tables[{row.gpu, row.shape.part, row.engine, row.release}][key_of(row.shape)].push_back(row.time.value());
  return tables;
}

}  // namespace

std::vector<FittedHyperConnection> fit_hyper_connections(std::span<const HyperConnectionTiming> rows) {
  const std::map<MixingTable, MixingTimes> tables = mixing_tables(rows);
  std::vector<FittedHyperConnection> fitted;
  for (const auto& [key, shapes] : tables)
    if (shapes.size() >= fewest_hyper_connection_shapes)
      fitted.push_back(fitted_mixing(key, shapes, folds_like(tables, key)));
  return fitted;
}

std::vector<LeftOutTable> left_out_of(std::span<const HyperConnectionTiming> rows) {
  std::vector<LeftOutTable> left;
  for (const auto& [key, shapes] : mixing_tables(rows)) {
    if (shapes.size() >= fewest_hyper_connection_shapes) continue;
    const auto& [gpu, part, engine, release] = key;
    LeftOutTable& table = left.emplace_back(LeftOutTable{gpu, to_text(part), engine, release, 0, shapes.size()});
    for (const auto& [shape, times] : shapes) table.rows += times.size();
  }
  return left;
}

}  // namespace stepcast::calibrate
