// A resolved operator as MAESTRO's hardware and mapping files. Loops in time outside a level of units become temporal
// maps of what is left inside them, a loop in space a spatial map; every further loop in space opens a level of
// clusters.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/foreign.h"
#include "dataflow/translate/maestro/maestro_shape.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

tl::unexpected<Error> not_maestro(const std::string& where, std::string what) {
  return fail(where, std::move(what), "MAESTRO has no name for it");
}

/// One level of clusters: loops in time, outer to inner, then the loop in space over `units`.
struct MapLevel {
  std::vector<ChipLoop> time;
  std::optional<ChipLoop> space;
  std::int64_t units = 1;
  std::string where;
};

class MaestroWriter {
 public:
  MaestroWriter(const ChipProgram& chip, MaestroShape shape) : chip_(chip), shape_(std::move(shape)) {}

  Expected<Exported> run() {
    TRY(split_levels());
    tile_.resize(chip_.dims.size());
    for (std::size_t d = 0; d < chip_.dims.size(); ++d) tile_[d] = chip_.dims[d].extent;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (l > 0) lines_.push_back(fmt::format("Cluster({}, P);", levels_[l].units));
      TRY(write_level(l));
    }
    return written();
  }

 private:
  Expected<void> split_levels() {
    levels_.emplace_back();
    for (const ChipLevel& level : chip_.levels) {
      for (const ChipLoop& loop : level.space)
        if (loop.trips > 1) {
          if (levels_.back().space) levels_.emplace_back();
          levels_.back().space = loop;
          levels_.back().units = level.axes[loop.axis].units;
          levels_.back().where = level.name;
          if (parts_on(level, loop.axis) != loop.trips)
            return not_maestro(level.name, fmt::format("two loops on axis {}", level.axes[loop.axis].name));
        }
      for (const ChipLoop& loop : level.time)
        if (loop.trips > 1) {
          if (levels_.back().space) levels_.emplace_back();
          levels_.back().time.push_back(loop);
          levels_.back().where = level.name;
        }
    }
    // What is inside the last units runs in a PE: the last maps' sizes say how much, nothing says the order.
    if (levels_.size() > 1 && !levels_.back().space) levels_.pop_back();
    return {};
  }
  static std::int64_t parts_on(const ChipLevel& level, int axis) {
    std::int64_t parts = 1;
    for (const ChipLoop& loop : level.space)
      if (loop.axis == axis) parts *= loop.trips;
    return parts;
  }

  /// Sizes go by what a level hands on: the loops of the dim that come after it.
  Expected<void> write_level(std::size_t l) {
    const MapLevel& level = levels_[l];
    std::vector<std::int64_t> inside = tile_;
    std::vector<int> order;  // dims in the order of their directives
    for (const ChipLoop& loop : level.time) {
      if (contains(order, loop.dim))
        return not_maestro(
            level.where, fmt::format("two loops over {} outside one level of units", chip_.dims[loop.dim].name));
      order.push_back(loop.dim);
      inside[loop.dim] = ceil_of(inside[loop.dim], loop.trips);
    }
    if (level.space) {
      const int dim = level.space->dim;
      const bool folds = contains(order, dim);
      if (folds && level.space->trips != level.units)
        return not_maestro(
            level.where, fmt::format("{} in time over {} of {} units: a spatial map folds over all of them",
                             chip_.dims[dim].name, level.space->trips, level.units));
      if (!folds) order.push_back(dim);
    }
    hand_on(l, inside);
    for (int d = 0; d < static_cast<int>(chip_.dims.size()); ++d)
      if (!contains(order, d)) order.insert(order.begin(), d);  // uncut: first, where it changes nothing
    for (const int dim : order) write_map(level, dim, inside);
    tile_ = std::move(inside);
    return {};
  }

  /// The piece of every dim: the product of its loops inside this level, as the nest has them.
  void hand_on(std::size_t l, std::vector<std::int64_t>& inside) const {
    std::vector<std::int64_t> product(chip_.dims.size(), 1);
    for (std::size_t later = l + 1; later < levels_.size(); ++later) {
      for (const ChipLoop& loop : levels_[later].time) product[loop.dim] *= loop.trips;
      if (levels_[later].space) product[levels_[later].space->dim] *= levels_[later].space->trips;
    }
    for (const ChipLoop& loop : inside_pe()) product[loop.dim] *= loop.trips;
    for (std::size_t d = 0; d < inside.size(); ++d) inside[d] = std::min(product[d], tile_[d]);
  }
  /// Loops in time after the last loop in space.
  [[nodiscard]] std::vector<ChipLoop> inside_pe() const {
    std::vector<ChipLoop> loops;
    if (!levels_.back().space) return loops;
    for (std::size_t l = chip_.levels.size(); l-- > 0;) {
      loops.insert(loops.end(), chip_.levels[l].time.begin(), chip_.levels[l].time.end());
      if (std::ranges::any_of(chip_.levels[l].space, [](const ChipLoop& s) { return s.trips > 1; })) break;
    }
    return loops;
  }

  static std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

  /// Results along Y or X are written as the input that they need: (results - 1) * stride + filter, advancing by the
  /// results.
  void write_map(const MapLevel& level, int dim, const std::vector<std::int64_t>& inside) {
    const std::string& name = shape_.loop[dim];
    const bool row = name == "Y_out", column = name == "X_out";
    const int filter = row ? shape_.find("R") : column ? shape_.find("S") : -1;
    std::int64_t size = inside[dim];
    if (filter >= 0) size = (size - 1) * (row ? shape_.stride_y : shape_.stride_x) + inside[filter];
    // A filter row in space over one row of results takes its row of the input with it.
    const bool diagonal = filter >= 0 && level.space && level.space->dim == filter && tile_[dim] == 1;
    const bool spatial = diagonal || (level.space && level.space->dim == dim);
    lines_.push_back(fmt::format("{}({},{}) {};", spatial ? "SpatialMap" : "TemporalMap", size, inside[dim],
        filter < 0 ? name
        : row      ? "Y"
                   : "X"));
  }

  Exported written() const {
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < chip_.dims.size(); ++d) dims.push_back(dim_text(static_cast<int>(d)));
    Exported out;
    const std::string mapping = fmt::format(
        "Network {} {{\n  Layer {} {{\n    Type: {}\n    Stride {{ X: {}, Y: {} }}\n    Dimensions {{ {} }}\n    "
        "Dataflow {{\n      {}\n    }}\n  }}\n}}\n",
        chip_.op, chip_.op, shape_.type, shape_.stride_x, shape_.stride_y, fmt::join(dims, ", "),
        fmt::join(lines_, "\n      "));
    const std::string hardware = hardware_text();
    out.files = {{chip_.op + "_hw.m", hardware}, {chip_.op + ".m", mapping}};
    out.text = hardware + "\n" + mapping;
    out.notes = notes();
    return out;
  }

  std::string dim_text(int d) const {
    const std::string& name = shape_.loop[d];
    const bool row = name == "Y_out", column = name == "X_out";
    if (!row && !column) return fmt::format("{}: {}", name, chip_.dims[d].extent);
    const std::int64_t filter = chip_.dims[shape_.find(row ? "R" : "S")].extent;
    return fmt::format(
        "{}: {}", row ? "Y" : "X", (chip_.dims[d].extent - 1) * (row ? shape_.stride_y : shape_.stride_x) + filter);
  }

  std::string hardware_text() const {
    std::int64_t pes = 1;
    for (const MapLevel& level : levels_) pes *= level.units;
    std::string text = fmt::format("num_pes: {}\n", pes);
    if (chip_.levels.back().capacity_bytes > 0)
      text += fmt::format("l1_size_cstr: {}\n", chip_.levels.back().capacity_bytes);
    if (chip_.levels.size() > 1 && chip_.levels[1].bytes_per_cycle > 0)
      text += fmt::format("noc_bw_cstr: {}\n", chip_.levels[1].bytes_per_cycle);
    if (chip_.levels.front().bytes_per_cycle > 0)
      text += fmt::format("offchip_bw_cstr: {}\n", chip_.levels.front().bytes_per_cycle);
    return text;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const ChipLevel& level : chip_.levels) {
      std::vector<std::string> passed;
      for (std::size_t t = 0; t < chip_.tensors.size(); ++t)
        if (level.store && !level.keeps[t]) passed.push_back(chip_.tensors[t].name);
      if (!passed.empty())
        notes.push_back(fmt::format(
            "{} does not keep {}: MAESTRO's buffers keep every tensor", level.name, fmt::join(passed, ", ")));
      if (level.fabric == FabricClass::chain)
        notes.push_back(fmt::format("{}: MAESTRO's network has no skew", level.name));
    }
    const std::vector<ChipLoop> last = inside_pe();
    if (std::ranges::any_of(last, [](const ChipLoop& l) { return l.trips > 1; }))
      notes.emplace_back("the order of loops inside a PE has no word there");
    return notes;
  }

  const ChipProgram& chip_;
  const MaestroShape shape_;
  std::vector<MapLevel> levels_;
  std::vector<std::int64_t> tile_;  // of the level at hand, by dim
  std::vector<std::string> lines_;
};

}  // namespace

Expected<Exported> to_maestro(const ChipProgram& chip) {
  const auto shape = maestro_shape(chip);
  if (!shape)
    return not_maestro(chip.op, "an operator that is neither a matrix product nor a convolution over two windows");
  return MaestroWriter(chip, *shape).run();
}

}  // namespace stepcast::dataflow
