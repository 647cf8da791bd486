// The Eyeriss taxonomy (Chen, Emer and Sze, ISCA 2016): which tensor stays in the store beside the multiply-adds while
// the others pass. The store is the innermost level that keeps anything; if units lie side by side inside it, they keep
// nothing of their own and there is no local reuse.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/translate/cluster/names.h"

namespace stepcast::dataflow {
namespace {

bool depends(const ChipTensor& tensor, int dim) {
  for (const ChipIndex& index : tensor.indices)
    for (const ChipIndex::Term& term : index.terms)
      if (term.dim == dim) return true;
  return false;
}

bool has_units(const ChipLevel& level) {
  return std::ranges::any_of(level.space, [](const ChipLoop& loop) { return loop.trips > 1; }) ||
         std::ranges::any_of(level.axes, [](const ChipAxis& axis) { return axis.units > 1; });
}

int innermost_store(const ChipProgram& chip) {
  for (int l = static_cast<int>(chip.levels.size()); l-- > 0;)
    if (chip.levels[l].store && std::ranges::count(chip.levels[l].keeps, true) > 0) return l;
  return -1;
}

/// Rounds that the tensor's tile at `store` lasts: the innermost run of loops outside it that do not touch the tensor,
/// and the rounds inside the store that do not either.
std::int64_t reuse(const ChipProgram& chip, int tensor, int store) {
  std::int64_t rounds = 1;
  const ChipTensor& t = chip.tensors[tensor];
  for (const ChipLoop& loop : chip.levels[store].time)
    if (!depends(t, loop.dim)) rounds *= loop.trips;
  for (int l = store; l-- > 0;)
    for (auto loop = chip.levels[l].time.rbegin(); loop != chip.levels[l].time.rend(); ++loop) {
      if (loop->trips > 1 && depends(t, loop->dim)) return rounds;
      rounds *= loop->trips;
    }
  return rounds;
}

bool in_space(const ChipProgram& chip, int dim) {
  for (const ChipLevel& level : chip.levels)
    for (const ChipLoop& loop : level.space)
      if (loop.dim == dim && loop.trips > 1) return true;
  return false;
}

bool runs_inside(const ChipLevel& store, int dim) {
  return std::ranges::any_of(store.time, [&](const ChipLoop& loop) { return loop.dim == dim && loop.trips > 1; });
}

/// Row-stationary: the two loops of one sliding window (output row, filter row) lie on the array, and the filter loop
/// of another window runs inside the store: a unit convolves one row with one row.
bool row_stationary(const ChipProgram& chip, int store) {
  bool diagonal = false, one_dimensional = false;
  for (const ChipTensor& tensor : chip.tensors)
    for (const ChipIndex& index : tensor.indices) {
      if (index.terms.size() != 2) continue;
      const int a = index.terms[0].dim, b = index.terms[1].dim;
      if (in_space(chip, a) && in_space(chip, b)) diagonal = true;
      else if (runs_inside(chip.levels[store], a) || runs_inside(chip.levels[store], b)) one_dimensional = true;
    }
  return diagonal && one_dimensional;
}

struct StationaryWord {
  TensorUse use;
  const char* name;
};
constexpr std::array stationary_words = {StationaryWord{TensorUse::weight, "weight-stationary"},
    StationaryWord{TensorUse::input, "input-stationary"}, StationaryWord{TensorUse::output, "output-stationary"}};

const char* stationary_word(TensorUse use) {
  for (const StationaryWord& row : stationary_words)
    if (row.use == use) return row.name;
  return "";
}

}  // namespace

NameRow taxonomy_name(const ChipProgram& chip) {
  NameRow row{"Eyeriss", chip.op, {}, {}, {}, {}};
  const int store = innermost_store(chip);
  if (store < 0) {
    row.why = "no level keeps anything";
    return row;
  }
  const ChipLevel& level = chip.levels[store];
  const bool units_inside = std::any_of(chip.levels.begin() + store + 1, chip.levels.end(), has_units);
  const bool array = units_inside || std::ranges::any_of(chip.levels, has_units);
  if (units_inside || !array || store == 0) {
    row.name = array ? "no local reuse" : "";
    row.why = array ? fmt::format("the units keep nothing: every operand comes from {}", level.name)
                    : "there are no units side by side";
    return row;
  }
  if (row_stationary(chip, store)) {
    row.name = "row-stationary";
    row.why =
        fmt::format("output and filter rows lie across the units, and each convolves one row inside {}", level.name);
    return row;
  }
  std::vector<std::pair<std::int64_t, int>> stays;
  for (int t = 0; t < static_cast<int>(chip.tensors.size()); ++t)
    if (level.keeps[t]) stays.emplace_back(reuse(chip, t, store), t);
  std::sort(stays.rbegin(), stays.rend());
  const ChipTensor& longest = chip.tensors[stays.front().second];
  if (stays.size() > 1 && stays[0].first == stays[1].first) {
    row.why = fmt::format("{} and {} stay at {} equally long, {} rounds", longest.name,
        chip.tensors[stays[1].second].name, level.name, stays[0].first);
    return row;
  }
  if (stays.front().first == 1) {
    row.why = fmt::format("the tile of {} at {} changes every round", longest.name, level.name);
    return row;
  }
  row.name = stationary_word(longest.use);
  row.why =
      fmt::format("{} stays at {} for {} rounds while the others pass", longest.name, level.name, stays.front().first);
  return row;
}

}  // namespace stepcast::dataflow
