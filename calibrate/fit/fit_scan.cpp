#include "calibrate/fit/fit_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/fit/numeric/fold_ratios.h"
#include "calibrate/fit/numeric/holdout.h"
#include "calibrate/fit/numeric/refine.h"
#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"
#include "model/profile/scan_law.h"

namespace stepcast::calibrate {
namespace {

/// The chunk and the state that a function's law speaks of: fla's chunks of 64 positions and states of 128 x 128
/// (Qwen3-Next, Kimi), Mamba-2's of 128 and 64 x 128 (Nemotron 3).
struct UsualScan {
  std::string_view function;
  double positions, value_size, key_size;
};
constexpr UsualScan usual_scans[] = {{"ssd", 128, 64, 128}, {"gated_delta", 64, 128, 128}, {"kda", 64, 128, 128}};

using ShapeKey = std::array<double, 6>;
ShapeKey key_of(const ScanShape& s) { return {s.sequences, s.positions, s.heads, s.groups, s.value_size, s.key_size}; }

struct TimedShape {
  ScanShape shape;
  double seconds = 0;  ///< median of the repeats
  std::size_t fold = 0;
};

// The parameters in their order, with three starts: what a wave costs, chunks or chains dominate.
constexpr std::array<Seconds ScanLaw::*, 6> times = {
    &ScanLaw::t0, &ScanLaw::first_chunk, &ScanLaw::state, &ScanLaw::chunk, &ScanLaw::step, &ScanLaw::state_step};
constexpr std::array<std::array<double, 6>, 3> starts = {{{20e-6, 2.7e-6, 50e-9, 50e-9, 2e-6, 50e-9},
    {12e-6, 20e-6, 135e-9, 135e-9, 2.7e-6, 82e-9}, {33e-6, 0.14e-6, 18e-9, 180e-9, 0.37e-6, 18e-9}}};
/// A time below this is nothing: no profile holds one so short.
constexpr double nothing_below = 1e-12;
constexpr double least_time = 1e-13, most_time = 1e-3, soft = 1.44, softest = 0.9, hardest = 7.5;

ScanLaw with(ScanLaw law, std::span<const double> parameters) {
  for (std::size_t i = 0; i < times.size(); ++i) law.*times[i] = Seconds(parameters[i]);
  law.softness = parameters[times.size()];
  return law;
}

ScanLaw fit_law(const ScanLaw& form, const std::vector<const TimedShape*>& shapes) {
  std::vector<double> measured;
  for (const TimedShape* one : shapes) measured.push_back(one->seconds);
  const auto model = [&](std::span<const double> parameters, std::span<double> predicted) {
    const ScanLaw law = with(form, parameters);
    for (std::size_t i = 0; i < shapes.size(); ++i) predicted[i] = scan_time_alone(law, shapes[i]->shape).time.value();
  };
  Fit best;
  for (const auto& start : starts) {
    std::vector<FitParameter> parameters;
    for (const double time : start) parameters.push_back({time, least_time, most_time});
    parameters.push_back({soft, softest, hardest});
    Fit fit = fit_log_error(model, measured, parameters);
    if (best.parameters.empty() || fit.loss < best.loss) best = std::move(fit);
  }
  for (std::size_t i = 0; i < times.size(); ++i)
    if (best.parameters[i] < nothing_below) best.parameters[i] = 0;
  return with(form, best.parameters);
}

std::uint64_t number_of(const ScanShape& s) {
  return hash_of({s.sequences, s.positions, s.heads, s.groups, s.value_size, s.key_size});
}

/// The law of these shapes, with a correction where that helps shapes that are held out among them.
ScanLaw refined_law(const ScanLaw& form, const std::vector<const TimedShape*>& shapes) {
  ScanLaw law = fit_law(form, shapes);
  RefineProblem problem;
  problem.width = static_cast<int>(scan_feature_names.size());
  for (const TimedShape* one : shapes) {
    problem.measured.push_back(one->seconds);
    problem.shape.push_back(number_of(one->shape));
    const ScanFeatures own = scan_features(one->shape, scan_time_alone(law, one->shape).time);
    problem.features.insert(problem.features.end(), own.begin(), own.end());
  }
  problem.base = [&](std::span<const std::size_t> kept) {
    std::vector<const TimedShape*> some;
    for (const std::size_t i : kept) some.push_back(shapes[i]);
    const ScanLaw of_some = some.size() == shapes.size() ? law : fit_law(form, some);
    std::vector<double> seconds;
    for (const TimedShape* one : shapes) seconds.push_back(scan_time_alone(of_some, one->shape).time.value());
    return seconds;
  };
  law.refinement = refine(problem).refinement;
  return law;
}

/// What is held out has no part in the law, nor in its correction, nor in whether there is one.
void fit_shapes(const std::vector<TimedShape>& shapes, FittedScan& out) {
  FoldRatios corrected, plain;
  each_fold(shapes, [&](std::size_t fold, const auto& others, const auto& held) {
    const ScanLaw law = refined_law(out.law, others);
    for (const TimedShape* one : held) {
      corrected[fold].push_back(one->seconds / scan_time(law, one->shape).time.value());
      plain[fold].push_back(one->seconds / scan_time_alone(law, one->shape).time.value());
    }
  });
  std::vector<const TimedShape*> all;
  for (const TimedShape& one : shapes) all.push_back(&one);
  out.law = refined_law(out.law, all);
  out.law.spread = spread_of(joined(plain));
  out.alone = held_out_of(plain).mape;
  out.held_out = out.law.refinement.held_out = held_out_of(corrected);
}

using TableKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;
using ShapeTimes = std::map<ShapeKey, std::vector<const ScanTiming*>>;

FittedScan fitted_table(const TableKey& key, const ShapeTimes& timed, const std::map<ShapeKey, std::size_t>& fold_by) {
  FittedScan out;
  std::string engine;
  std::tie(out.gpu, out.law.function, engine, out.release, out.kernel) = key;
  for (const UsualScan& usual : usual_scans)
    if (out.law.function == usual.function)
      out.law.positions = usual.positions, out.law.value_size = usual.value_size, out.law.key_size = usual.key_size;
  out.law.source = Source::fitted;
  out.law.kernels = engine, out.law.software = engine + " " + out.release + " " + out.kernel;
  std::vector<TimedShape> shapes;
  std::vector<double> apart;
  for (const auto& [shape, rows] : timed) {
    std::vector<double> seconds;
    for (const ScanTiming* row : rows) seconds.push_back(row->time.value());
    const auto [shortest, longest] = std::ranges::minmax(seconds);
    if (seconds.size() > 1) apart.push_back(longest / shortest - 1);
    shapes.push_back({rows.front()->shape, percentile(seconds, 0.5), fold_by.at(shape)});
    out.rows += rows.size();
  }
  out.shapes = shapes.size(), out.repeated = apart.size();
  if (!apart.empty()) out.repeats_apart = percentile(apart, 0.5);
  fit_shapes(shapes, out);
  return out;
}

std::map<TableKey, ShapeTimes> scan_tables(std::span<const ScanTiming> rows) {
  std::map<TableKey, ShapeTimes> tables;
  for (const ScanTiming& row : rows)
    tables[{row.gpu, row.shape.function->name, row.engine, row.release, row.kernel}][key_of(row.shape)].push_back(&row);
  return tables;
}

}  // namespace

std::vector<FittedScan> fit_scans(std::span<const ScanTiming> rows) {
  const std::map<TableKey, ShapeTimes> tables = scan_tables(rows);
  std::vector<FittedScan> fitted;
  for (const auto& [key, shapes] : tables)
    if (shapes.size() >= fewest_scan_shapes) fitted.push_back(fitted_table(key, shapes, folds_like(tables, key)));
  return fitted;
}

std::vector<LeftOutTable> left_out_of(std::span<const ScanTiming> rows) {
  std::vector<LeftOutTable> left;
  for (const auto& [key, shapes] : scan_tables(rows)) {
    if (shapes.size() >= fewest_scan_shapes) continue;
    const auto& [gpu, function, engine, release, kernel] = key;
    LeftOutTable& table = left.emplace_back(LeftOutTable{gpu, function, engine, release, 0, shapes.size()});
    for (const auto& [shape, times] : shapes) table.rows += times.size();
  }
  return left;
}

}  // namespace stepcast::calibrate
