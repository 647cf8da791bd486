#include "dataflow/chip/search/search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/search/search_anneal.h"
#include "dataflow/chip/search/search_check.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {
namespace mapper {
namespace {

constexpr int start_chains = 4, bounded_chains = 16;
constexpr std::int64_t start_steps = 10'000;
constexpr double most_lattice = 200'000;  // tiles; beyond, only annealing
constexpr double well_used_share = 0.8;   // share of the units; below, ragged tiles are tried

struct Outcome {
  Found found;
  Tally tally;
  double space = 0;
  bool complete = false;
  ChipProgram best;
};

void add(Tally& all, const Tally& more) {
  all.looked += more.looked;
  all.evaluated += more.evaluated;
  all.pruned += more.pruned;
  all.limited = all.limited || more.limited;
  all.left_out = all.left_out || more.left_out;
}

/// The least that any keep lists allow, before anything is walked.
double root_bound(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes) {
  SearchOptions none = options;
  none.most_evaluations = 0;
  Found nothing;
  return walk_all(space, table, none, shapes, 0, nothing).open;
}

double units_of(const ChipProgram& chip) {
  double units = 1;
  for (const ChipLevel& level : chip.levels)
    for (const ChipAxis& axis : level.axes) units *= static_cast<double>(axis.units);
  return units;
}

/// What no mapping can do without: the multiply-adds, and every element once over the outermost boundary.
double compulsory(const ChipProgram& start, const Space& space, const ScoreTable& table, SearchObjective objective) {
  ChipScore least{space.macs / units_of(start) / table.macs_per_cycle, space.macs * table.mac_energy_pj, 0};
  for (int t = 0; t < space.tensors; ++t) {
    least.energy_pj += space.footprint[t] * table.energy_pj[space.outermost * space.tensors + t];
    if (space.outermost == 0) least.traffic_bytes += space.footprint[t] * table.word_bytes[t];
  }
  return objective_of(least, objective);
}

Outcome search_grid(const ChipProgram& start, const Space& space, const Nest& shapes, const SearchOptions& options) {
  const ScoreTable table = score_table(start);
  Outcome out;
  out.space = space.size();
  const bool small = space.lattice() <= most_lattice;
  const std::int64_t most = options.most_evaluations;
  const std::int64_t share = small ? std::max(most / 20, std::min(most / 2, start_chains * start_steps)) : most;
  const int chains = small ? start_chains : bounded_chains;
  add(out.tally, anneal(space, table, options, shapes, chains,
                     std::min(small ? start_steps : share, share / chains + 1), out.found));
  if (!small) out.tally.open = root_bound(space, table, options, shapes);
  for (int phase = 0; small && phase < 3; ++phase) {
    SearchOptions rest = options;
    rest.most_evaluations = std::max<std::int64_t>(0, options.most_evaluations - out.tally.looked);
    const Tally walked = walk_all(space, table, rest, shapes, phase, out.found);
    add(out.tally, walked);
    if (phase == 0) out.tally.open = walked.limited ? std::min(walked.open, walked.leaf) : walked.open;
    if (!out.found.any() || walked.open < std::numeric_limits<double>::infinity()) break;
  }
  if (small && out.tally.open < out.found.rank[0])  // cut short: the rest of what was granted goes into more starts
    add(out.tally, anneal(space, table, options, shapes, bounded_chains, share / bounded_chains + 1, out.found));
  if (out.tally.left_out) out.tally.open = compulsory(start, space, table, options.objective);
  out.complete = small && out.tally.open >= out.found.rank[0];
  if (out.found.any()) out.best = chip_of(space, out.found.mapping);
  return out;
}

/// The most units that whole tiles can use, level by level.
double usable_units(const Space& space) {
  double usable = 1;
  for (const auto& choices : space.space) {
    double most = 1;
    for (const SpaceChoice& choice : choices) {
      double units = 1;
      for (int d = 0; d < space.dims; ++d)
        units *= static_cast<double>(choice.factor[d]) * static_cast<double>(space.grids[d].extent) /
                 static_cast<double>(space.grids[d].padded);
      most = std::max(most, units);
    }
    usable *= most;
  }
  return usable;
}

struct Padding {
  std::vector<std::int64_t> extents;
  int dim = -1;
  double usable = 0;
};

/// One dim rounded up to the units of an axis: the two that use the units best, if that is much better than whole
/// tiles.
std::vector<Padding> paddings(const ChipProgram& start, const SearchConstraints& constraints,
    const std::vector<std::int64_t>& whole, double usable) {
  std::vector<Padding> all;
  for (int d = 0; d < static_cast<int>(whole.size()); ++d)
    for (const ChipLevel& level : start.levels)
      for (const ChipAxis& axis : level.axes) {
        if (axis.units < 2 || whole[d] < axis.units || whole[d] % axis.units == 0) continue;
        Padding padding{whole, d, 0};
        padding.extents[d] = (whole[d] + axis.units - 1) / axis.units * axis.units;
        const bool known =
            std::any_of(all.begin(), all.end(), [&](const Padding& other) { return other.extents == padding.extents; });
        auto space = space_of(start, constraints, padding.extents);
        if (known || !space) continue;
        padding.usable = usable_units(*space);
        if (padding.usable > usable * 1.1) all.push_back(padding);
      }
  std::stable_sort(all.begin(), all.end(), [](const Padding& a, const Padding& b) { return a.usable > b.usable; });
  if (all.size() > 2) all.resize(2);
  return all;
}

/// Which one statement stands in the way.
Error no_mapping(
    const ChipProgram& start, const SearchConstraints& constraints, const SearchOptions& options, const Nest& shapes) {
  const ScoreTable table = score_table(start);
  const auto works_without = [&](const SearchConstraints& relaxed) {
    auto space = space_of(start, relaxed, stated_extents(start, relaxed));
    if (!space) return false;
    Found found;
    anneal(*space, table, options, shapes, start_chains, start_steps / 10, found);
    return found.any();
  };
  for (std::size_t l = 0; l < start.levels.size(); ++l) {
    const auto& level = constraints.levels[l];
    for (int in_time = 0; in_time < 2; ++in_time)
      for (std::size_t i = 0; i < (in_time ? level.time : level.space).size(); ++i) {
        SearchConstraints relaxed = constraints;
        auto& loops = in_time ? relaxed.levels[l].time : relaxed.levels[l].space;
        const SearchConstraints::Loop loop = loops[i];
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
        if (works_without(relaxed))
          return {to_text(loop.position),
              fmt::format("no mapping obeys all that is stated; without '{}' at {} there are some", loop.text,
                  start.levels[l].name),
              "leave its number open"};
      }
    SearchConstraints relaxed = constraints;
    relaxed.levels[l].keeps = false;
    if (level.keeps && works_without(relaxed))
      return {to_text(level.position),
          fmt::format(
              "no mapping obeys all that is stated; without the list of {} there are some", start.levels[l].name),
          "keep fewer tensors there, or give it a larger cap"};
  }
  return {"search", "no mapping obeys all that is stated, and leaving out one statement does not help", "state less"};
}

}  // namespace
}  // namespace mapper

Expected<SearchResult> search(const ChipProgram& start, const SearchConstraints& given, const SearchOptions& options) {
  using namespace mapper;
  SearchConstraints constraints = given;
  constraints.levels.resize(start.levels.size());
  TRY(check_constraints(start, constraints));
  const std::vector<std::int64_t> extents = stated_extents(start, constraints);
  TRY(auto space, space_of(start, constraints, extents));
  TRY(auto shapes, nest_of(space.chip, options.windows));

  Outcome out = search_grid(start, space, shapes, options);
  SearchResult result;
  double open = out.tally.open;
  if (const double usable = usable_units(space); usable < well_used_share * units_of(start))
    for (const Padding& padding : paddings(start, constraints, extents, usable)) {
      auto padded = space_of(start, constraints, padding.extents);
      if (!padded) continue;
      Outcome ragged = search_grid(start, *padded, shapes, options);
      const std::string& name = start.dims[padding.dim].name;
      result.note += fmt::format("{}whole tiles use at most {:g} of {:g} units: {} rounded up to {} was searched too",
          result.note.empty() ? "" : "; ", usable, units_of(start), name, padding.extents[padding.dim]);
      const bool better = ragged.found.any() && less(ragged.found.rank, out.found.rank);
      if (better) result.note += fmt::format(", and is better");
      open = std::min(open, ragged.tally.open);
      add(ragged.tally, out.tally);
      ragged.space += out.space;
      ragged.complete = ragged.complete && out.complete;
      if (better) out = std::move(ragged);
      else out.tally = ragged.tally, out.space = ragged.space, out.complete = ragged.complete;
    }
  if (!out.found.any()) return tl::unexpected(no_mapping(start, constraints, options, shapes));
  if (out.tally.left_out)
    result.note += fmt::format("{}some keep lists or choices of units were left out", result.note.empty() ? "" : "; ");
  result.best = std::move(out.best);
  result.score = out.found.score;
  result.space = out.space;
  result.evaluated = out.tally.evaluated;
  result.pruned = out.tally.pruned;
  result.complete = out.complete;
  result.lower_bound = std::min(out.found.rank[0], open);
  result.gap = result.lower_bound > 0 ? out.found.rank[0] / result.lower_bound - 1 : 0;
  return result;
}

}  // namespace stepcast::dataflow
