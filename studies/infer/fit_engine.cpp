#include "studies/infer/fit_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"
#include "model/base/quantity_text.h"
#include "model/catalog.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

/// Forecasts of one row's records while its laws of products stand at one value.
struct Sums {
  double products = 1;
  std::vector<InferenceCase> cases;
};

Seconds time_of(const InferenceCase& made, const Engine& engine, const Engine::Tuning& tuning) {
  Seconds time;
  for (const Repeated& iteration : made.phase.iterations)
    time += sim::elapsed(iteration.sums, engine, tuning) * iteration.times;
  return time;
}

/// Between the tenth and the ninetieth percentile of records, as one more record would fall (Vovk et al. 2005,
/// Algorithmic Learning in a Random World, section 2.2).
Spread as_one_more(const std::vector<double>& measured_over_forecast) {
  const auto n = static_cast<double>(measured_over_forecast.size());
  const double level = std::min(1.0, 0.9 * (n + 1) / n);
  return {std::min(1.0, percentile(measured_over_forecast, 1 - level)),
      std::max(1.0, percentile(measured_over_forecast, level))};
}

/// Steps of the one figure that the sums do not follow in proportion.
constexpr double product_steps[] = {0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.7, 2, 2.5, 3.2, 4, 5, 7, 10, 14};

class RowFit {
 public:
  RowFit(const Engine& engine, const Engine::Tuning& row, std::vector<InferenceRecord> records)
      : engine_(engine), row_(row), records_(std::move(records)) {
    const bool steps = std::ranges::count(row.fitted, "products") > 0;
    const std::vector<double> values =
        steps ? std::vector<double>(std::begin(product_steps), std::end(product_steps)) : std::vector{row.products};
    for (const double products : values) sums_.push_back(sums_at(products));
  }

  [[nodiscard]] TuningFit run() const {
    TuningFit out;
    out.engine = engine_.id;
    const std::vector<InferenceCase>& cases = sums_.front().cases;
    std::vector<std::size_t> all;
    std::set<std::string> networks;
    for (std::size_t i = 0; i < cases.size(); ++i) all.push_back(i), networks.insert(cases[i].model);
    out.tuning = fitted(all);
    out.records = static_cast<int>(cases.size()), out.networks = static_cast<int>(networks.size());
    out.error = mean(errors(all, out.tuning));
    std::vector<double> ratios, held_out;
    if (networks.size() < 2) {
      for (const InferenceCase& made : at(out.tuning.products).cases)
        ratios.push_back(made.measured_seconds / time_of(made, engine_, out.tuning).value());
      if (networks.empty()) return out;
      if (row_.network != *networks.begin()) out.tuning.spread = Engine::Tuning().spread;
      out.tuning.network = *networks.begin(), out.tuning.of_network = as_one_more(ratios);
      return out;
    }
    out.tuning.network.clear(), out.tuning.of_network = Engine::Tuning().of_network;
    for (const std::string& network : networks) {
      std::vector<std::size_t> rest, out_of_it;
      for (const std::size_t i : all) (cases[i].model == network ? out_of_it : rest).push_back(i);
      const Engine::Tuning without = fitted(rest);
      for (const double error : errors(out_of_it, without)) held_out.push_back(error);
      for (const std::size_t i : out_of_it) {
        const InferenceCase& made = at(without.products).cases[i];
        ratios.push_back(made.measured_seconds / time_of(made, engine_, without).value());
        out.left_out[made.id] = predicted(made, without);
      }
    }
    out.held_out = mean(held_out);
    out.held_out_median = percentile(held_out, 0.5);
    out.tuning.spread = as_one_more(ratios);
    return out;
  }

 private:
  Sums sums_at(double products) const {
    Engine engine = engine_;
    for (Engine::Tuning& tuning : engine.tunings)
      if (same_row(tuning)) tuning.products = products;
    Sums out{products, {}};
    out.cases = judge(records_, {&engine}).cases;
    std::erase_if(out.cases, [](const InferenceCase& made) { return made.metric == "slope"; });
    return out;
  }
  bool same_row(const Engine::Tuning& other) const {
    return other.architecture == row_.architecture && other.products_in == row_.products_in;
  }
  const Sums& at(double products) const { return *std::ranges::find(sums_, products, &Sums::products); }

  /// In the record's own metric.
  double predicted(const InferenceCase& made, const Engine::Tuning& tuning) const {
    const double ratio = time_of(made, engine_, tuning).value() / made.measured_seconds;
    const bool rate = made.metric.find("per_s") != std::string::npos;
    return made.measured * (rate ? 1 / ratio : ratio);
  }
  /// |predicted / measured - 1|.
  std::vector<double> errors(const std::vector<std::size_t>& which, const Engine::Tuning& tuning) const {
    std::vector<double> out;
    for (const std::size_t i : which) {
      const InferenceCase& made = at(tuning.products).cases[i];
      out.push_back(std::abs(predicted(made, tuning) / made.measured - 1));
    }
    return out;
  }
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }

  Engine::Tuning fitted(const std::vector<std::size_t>& which) const {
    Engine::Tuning best = row_;
    double least = std::numeric_limits<double>::infinity();
    for (const Sums& sums : sums_) {
      Engine::Tuning tuning = row_;
      tuning.products = sums.products;
      std::vector<const TuningFigure*> figures;
      std::vector<calibrate::FitParameter> parameters;
      for (const std::string& name : row_.fitted) {
        if (name == "products") continue;
        const TuningFigure* figure = figures.emplace_back(find_figure(name));
        parameters.push_back({std::clamp(figure->get(row_), figure->low, figure->high), figure->low, figure->high});
      }
      std::vector<double> measured;
      for (const std::size_t i : which) measured.push_back(sums.cases[i].measured_seconds);
      const auto set = [&](std::span<const double> values) {
        for (std::size_t f = 0; f < figures.size(); ++f) figures[f]->put(tuning, values[f]);
      };
      const auto model = [&](std::span<const double> values, std::span<double> predicted) {
        set(values);
        for (std::size_t i = 0; i < which.size(); ++i)
          predicted[i] = time_of(sums.cases[which[i]], engine_, tuning).value();
      };
      constexpr double knee = 0.05, tolerance = 1e-6;
      const calibrate::Fit fit = calibrate::fit_log_error(model, measured, parameters, knee, tolerance);
      set(fit.parameters);
      if (fit.loss < least) least = fit.loss, best = tuning;
    }
    return best;
  }

  Engine engine_;
  Engine::Tuning row_;
  std::vector<InferenceRecord> records_;
  std::vector<Sums> sums_;
};

}  // namespace

std::vector<TuningFit> fit_tunings(const std::vector<InferenceRecord>& records, std::span<const Engine> engines) {
  std::map<std::pair<std::string, std::size_t>, std::vector<InferenceRecord>> of_row;
  std::vector<InferenceRecord> judged;
  std::map<std::string, const InferenceRecord*> by_id;
  for (const InferenceRecord& record : records)
    if (!record.judged_as.empty()) judged.push_back(record);
  for (const InferenceRecord& record : judged) by_id[record.id] = &record;
  for (const InferenceCase& made : judge(judged, {.iterations = false}).cases) {
    const auto engine = std::ranges::find(engines, made.engine, &Engine::id);
    if (engine == engines.end()) continue;
    const Engine::Tuning* row = find_tuning(*engine, made.architecture, made.products_in);
    of_row[{engine->id, static_cast<std::size_t>(row - engine->tunings.data())}].push_back(*by_id.at(made.id));
  }
  std::vector<TuningFit> out;
  for (auto& [key, rows] : of_row) {
    const Engine& engine = *std::ranges::find(engines, key.first, &Engine::id);
    const Engine::Tuning& row = engine.tunings[key.second];
    if (!row.fitted.empty()) out.push_back(RowFit(engine, row, std::move(rows)).run());
  }
  return out;
}

void hold_out(InferenceJudgement& judgement, const std::vector<TuningFit>& fits) {
  for (InferenceCase& made : judgement.cases)
    for (const TuningFit& fit : fits)
      if (const auto found = fit.left_out.find(made.id); fit.engine == made.engine && found != fit.left_out.end())
        forecast_anew(made, found->second), made.held_out = true;
}

Engine with_fits(Engine engine, const std::vector<TuningFit>& fits) {
  for (Engine::Tuning& row : engine.tunings)
    for (const TuningFit& fit : fits)
      if (fit.engine == engine.id && fit.tuning.architecture == row.architecture &&
          fit.tuning.products_in == row.products_in)
        row = fit.tuning;
  return engine;
}

std::string tunings_text(const std::vector<TuningFit>& fits) {
  print::Table table({{"engine"}, {"GPUs"}, {"type"}, {"records", print::Align::right},
      {"networks", print::Align::right}, {"error", print::Align::right}, {"left out", print::Align::right},
      {"median", print::Align::right}, {"p10"}, {"p90"}, {"figures"}});
  for (const TuningFit& fit : fits) {
    std::vector<std::string> figures;
    for (const std::string& name : fit.tuning.fitted) {
      const TuningFigure& figure = *find_figure(name);
      const double value = figure.get(fit.tuning);
      figures.push_back(
          fmt::format("{} {}", name, figure.seconds ? format_seconds(Seconds(value)) : fmt::format("{:.3g}", value)));
    }
    const Spread spread = fit.tuning.spread_of(fit.tuning.network);
    const auto share = [&](double error) { return fit.networks < 2 ? "-" : fmt::format("{:.1f} %", 100 * error); };
    table.add({fit.engine, fit.tuning.architecture, fit.tuning.products_in, fmt::format("{}", fit.records),
        fmt::format("{}", fit.networks), fmt::format("{:.1f} %", 100 * fit.error), share(fit.held_out),
        share(fit.held_out_median), fmt::format("{:.2f}", spread.p10), fmt::format("{:.2f}", spread.p90),
        fmt::format("{}", fmt::join(figures, ", "))});
  }
  return table.text("");
}

std::string tunings_json(const std::vector<TuningFit>& fits) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const TuningFit& fit : fits) {
    nlohmann::ordered_json row{{"engine", fit.engine}, {"architecture", fit.tuning.architecture},
        {"products_in", fit.tuning.products_in}, {"records", fit.records}, {"networks", fit.networks},
        {"error", fit.error}, {"held_out", fit.held_out}, {"held_out_median", fit.held_out_median},
        {"p10", fit.tuning.spread.p10}, {"p90", fit.tuning.spread.p90}};
    if (!fit.tuning.network.empty())
      row["network"] = fit.tuning.network, row["network_p10"] = fit.tuning.of_network.p10,
      row["network_p90"] = fit.tuning.of_network.p90;
    for (const std::string& name : fit.tuning.fitted) row["fitted"][name] = find_figure(name)->get(fit.tuning);
    rows.push_back(std::move(row));
  }
  return rows.dump(2) + "\n";
}

}  // namespace stepcast::infer
