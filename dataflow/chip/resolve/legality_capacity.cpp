#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/resolve/legality.h"
#include "dataflow/chip/resolve/numbers.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {
namespace {

double used_bytes(const ChipProgram& chip, int level) {
  double used = 0;
  for (std::size_t t = 0; t < chip.tensors.size(); ++t)
    if (chip.levels[level].keeps[t]) used += resident_bytes(chip, static_cast<int>(t), level);
  return used;
}

std::string bytes_text(double bytes) {
  return bytes == std::floor(bytes) && bytes < 9e18 ? grouped(static_cast<std::int64_t>(bytes)) + " B"
                                                    : fmt::format("{} B", bytes);
}

std::string elements_text(double elements) {
  return elements < 9e18 ? grouped(static_cast<std::int64_t>(elements)) : fmt::format("{:g}", elements);
}

/// "I 128x64 = 8,192 elements x 2 B x 2 buffers = 32,768 B"
std::string share_text(const ChipProgram& chip, int tensor, int level) {
  const ChipTensor& shared = chip.tensors[tensor];
  const ChipLevel& at = chip.levels[level];
  const std::vector<std::int64_t> parts = tile_extents(chip, level);
  std::vector<std::string> sides;
  for (const ChipIndex& index : shared.indices) sides.push_back(fmt::format("{:g}", distinct_values(index, parts)));
  const double elements = tile_elements(chip, tensor, level), bytes = resident_bytes(chip, tensor, level);
  const double width = at.word_bytes > 0 ? at.word_bytes : shared.bytes_per_element;
  const std::string product = sides.size() > 1 ? fmt::format("{} = ", fmt::join(sides, "x")) : "";
  const std::string buffers = bytes > elements * width ? fmt::format(" x {} buffers", at.buffers) : "";
  return fmt::format("{} {}{} elements x {:g} B{} = {}", shared.name, product, elements_text(elements), width, buffers,
      bytes_text(bytes));
}

/// One factor q taken out of a loop and put as a loop in time at `outside`.
struct Change {
  int level = -1, loop = -1, outside = -1;
  bool space = false;
  std::int64_t factor = 1;
  double used = 0;
};

ChipProgram changed(ChipProgram chip, const Change& change) {
  auto& loops = change.space ? chip.levels[change.level].space : chip.levels[change.level].time;
  ChipLoop moved = loops[change.loop];
  loops[change.loop].trips /= change.factor;
  moved.trips = change.factor;
  moved.axis = -1;
  chip.levels[change.outside].time.push_back(moved);
  return chip;
}

/// The change that fits and keeps most of the tile.
std::optional<Change> smallest_change(const ChipProgram& chip, int full, int outside, bool space) {
  std::optional<Change> best;
  for (int l = space ? full + 1 : full; l < static_cast<int>(chip.levels.size()); ++l) {
    const auto& loops = space ? chip.levels[l].space : chip.levels[l].time;
    for (int i = 0; i < static_cast<int>(loops.size()); ++i) {
      const auto consider = [&](std::int64_t factor) {
        if (factor < 2) return;
        Change change{l, i, outside, space, factor, 0};
        change.used = used_bytes(changed(chip, change), full);
        if (change.used <= chip.levels[full].capacity_bytes && (!best || change.used > best->used)) best = change;
      };
      for (std::int64_t q = 1; q <= loops[i].trips / q && q <= 1 << 20; ++q)
        if (loops[i].trips % q == 0) consider(q), consider(loops[i].trips / q);
    }
  }
  return best;
}

std::string change_text(const ChipProgram& chip, const Change& change) {
  const ChipLevel& level = chip.levels[change.level];
  const ChipLoop& loop = (change.space ? level.space : level.time)[change.loop];
  const std::string& dim = chip.dims[loop.dim].name;
  const std::string& outside = chip.levels[change.outside].name;
  const std::string statement = change.space
                                    ? fmt::format("'par {}:{} on {}'", dim, loop.trips, level.axes[loop.axis].name)
                                    : fmt::format("'for {}:{}'", dim, loop.trips);
  if (change.factor == loop.trips && !change.space)
    return fmt::format("move {} of {} out to {}: {}", statement, level.name, outside, bytes_text(change.used));
  const std::string verb = change.factor == 2 ? "halve" : "cut";
  return fmt::format("{} {} of {} to {}:{} and put 'for {}:{}' at {}: {}", verb, statement, level.name, dim,
      loop.trips / change.factor, dim, change.factor, outside, bytes_text(change.used));
}

/// Tensors that alone would have to pass by for the rest to fit.
std::vector<std::string> could_pass_by(const ChipProgram& chip, int full, double used) {
  std::vector<std::string> names;
  for (std::size_t t = 0; t < chip.tensors.size(); ++t)
    if (chip.levels[full].keeps[t] &&
        used - resident_bytes(chip, static_cast<int>(t), full) <= chip.levels[full].capacity_bytes)
      names.push_back(chip.tensors[t].name);
  return names;
}

std::string fitting_hint(const ChipProgram& chip, int full, double used) {
  int outside = full - 1;
  while (outside >= 0 && !chip.levels[outside].store) --outside;
  if (outside < 0)
    return fmt::format(
        "{} is the outermost store and holds everything: it needs a larger cap, or a mesh that splits the operator",
        chip.levels[full].name);
  std::optional<Change> change = smallest_change(chip, full, outside, false);
  if (!change) change = smallest_change(chip, full, outside, true);
  std::vector<std::string> ways;
  if (change) ways.push_back(change_text(chip, *change));
  if (const auto names = could_pass_by(chip, full, used); !names.empty())
    ways.push_back(fmt::format("leave {} out of the list of {}", fmt::join(names, " or "), chip.levels[full].name));
  return ways.empty() ? "no change of one factor makes it fit: keep fewer tensors here, or give it a larger cap"
                      : fmt::format("{}", fmt::join(ways, "; or "));
}

}  // namespace

Expected<void> check_capacity(const ChipProgram& chip, const std::vector<Position>& places) {
  for (int l = 0; l < static_cast<int>(chip.levels.size()); ++l) {
    const ChipLevel& level = chip.levels[l];
    const double used = used_bytes(chip, l);
    if (level.capacity_bytes <= 0 || used <= level.capacity_bytes) continue;
    std::vector<std::string> shares;
    for (std::size_t t = 0; t < chip.tensors.size(); ++t)
      if (level.keeps[t]) shares.push_back(share_text(chip, static_cast<int>(t), l));
    return fail(to_text(places[l]),
        fmt::format("{} needs {} but has {}: {}", level.name, bytes_text(used), bytes_text(level.capacity_bytes),
            fmt::join(shares, ", ")),
        fitting_hint(chip, l, used));
  }
  return {};
}

}  // namespace stepcast::dataflow
