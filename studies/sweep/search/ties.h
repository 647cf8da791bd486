// Finds which of the best forecasts cannot be told apart, and what to measure to decide. Two forecasts of one job (same
// network, GPUs, batch, software; another split) share most of their errors, so that their order is far surer than the
// interval of either says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace stepcast::sweep {

/// How many of `steps`, from the first, are tied with it. `steps`: best first, not empty, > 0; seconds, or anything in
/// proportion to them for one job (cost, energy at one GPU count). Tied is what is at most exp(pair_spread) times the
/// first. pair_spread is one-sided 90 % (pair_spread_of, model/step_tuning.h): whatever is left out is faster than the
/// first with a chance of 10 % at most, and of less the further out it lies, so that the fastest run of a job lies
/// inside in at least 90 of 100 jobs (studies/validation/measured_sweeps.h counts them).
std::size_t tied_count(std::span<const double> steps, double pair_spread);

/// The first, and of those tied with it the one that differs from it in most choices, for together they say most of
/// what the forecast misses; the better forecast among equals. `choices`: a row for each of the tied, in their order,
/// of equal lengths (SweepRow::choices). At most two indices; only the first where nothing ties.
std::vector<std::size_t> measure_first(std::span<const std::vector<std::string>> choices);

/// Ties of a list of the best: its first `tied` rows, whether the list ended before they did, and what to measure.
struct Ties {
  std::size_t count = 1;
  bool cut_short = false;  ///< the whole list is tied: others beyond its end may be too
  double pair_spread = 0;
  std::vector<std::size_t> measure;
};
/// `listed_all`: the list holds every configuration that was priced.
Ties ties_of(std::span<const double> steps, std::span<const std::vector<std::string>> choices, double pair_spread,
    bool listed_all);

/// "these 6 are within the error of a comparison (5.5 %); measure these 2 to decide: NAME; NAME", or by how much the
/// first leads. `names` and `steps`: of the list that `ties` was made of.
std::string ties_text(const Ties& ties, std::span<const std::string> names, std::span<const double> steps);

}  // namespace stepcast::sweep
