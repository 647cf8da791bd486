#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/resolve/resolve.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {

std::string spelled(const ChipPar& par) {
  const std::string factor = par.factor == 0 ? "" : fmt::format(":{}", par.factor);
  return fmt::format("par {}{}{} on {}", par.dim, factor, par.ragged ? "?" : "", par.axis);
}

namespace {

class AxisFinder {
 public:
  AxisFinder(
      const MappingProgram& program, const ChipProgram& chip, int level, const ChipPar& par, const Position& position)
      : program_(program), chip_(chip), level_(level), par_(par), position_(position) {}

  /// The axis that owns the split. x, y, z are those of the line's own level if it has units, else of the nearest
  /// inside; other names may belong to any level, level.axis to exactly one.
  Expected<std::pair<int, int>> run() const {
    for (int l = 0; l < static_cast<int>(chip_.levels.size()); ++l)
      for (int a = 0; a < axes_of(l); ++a)
        if (par_.axis == dotted(l, a) || (axes_of(l) == 1 && par_.axis == chip_.levels[l].name + ".x"))
          return std::pair{l, a};
    const int near = nearest_units(level_);
    if (near >= 0) {
      for (int a = 0; a < axes_of(near); ++a)
        if (chip_.levels[near].axes[a].name == par_.axis) return std::pair{near, a};
      if (axes_of(near) == 1 && par_.axis == "x") return std::pair{near, 0};
    }
    std::vector<std::pair<int, int>> found;
    if (par_.axis != "x" && par_.axis != "y" && par_.axis != "z")
      for (int l = 0; l < static_cast<int>(chip_.levels.size()); ++l)
        for (int a = 0; a < axes_of(l); ++a)
          if (chip_.levels[l].axes[a].name == par_.axis) found.emplace_back(l, a);
    if (found.size() == 1) return found.front();
    return tl::unexpected(no_axis(found));
  }

 private:
  [[nodiscard]] int axes_of(int level) const { return static_cast<int>(chip_.levels[level].axes.size()); }
  [[nodiscard]] std::string dotted(int level, int axis) const {
    return chip_.levels[level].name + "." + chip_.levels[level].axes[axis].name;
  }
  [[nodiscard]] int nearest_units(int level) const {
    for (int l = level; l < static_cast<int>(chip_.levels.size()); ++l)
      if (axes_of(l) > 0) return l;
    return -1;
  }

  [[nodiscard]] Error no_axis(const std::vector<std::pair<int, int>>& found) const {
    const std::string line = fmt::format("'{}' in the line of {}: ", spelled(par_), chip_.levels[level_].name);
    std::vector<std::string> candidates;
    for (const auto& [l, a] : found) candidates.push_back(dotted(l, a));
    if (!found.empty())
      return {to_text(position_), fmt::format("{}axis '{}' is ambiguous", line, par_.axis),
          fmt::format("one of: {}", fmt::join(candidates, ", "))};
    if (in_mesh())
      return {to_text(position_), fmt::format("{}{} is an axis of the mesh", line, par_.axis),
          fmt::format("write 'par {} on {}' without a level", par_.dim, par_.axis)};
    return {to_text(position_), fmt::format("{}unknown axis '{}'", line, par_.axis), axes_hint()};
  }

  [[nodiscard]] bool in_mesh() const {
    for (const MeshLine& mesh : program_.meshes)
      for (const MeshLine::Axis& axis : mesh.axes)
        if (axis.name == par_.axis) return true;
    return false;
  }

  [[nodiscard]] std::string axes_hint() const {
    std::vector<std::string> names;
    for (int l = 0; l < static_cast<int>(chip_.levels.size()); ++l)
      for (int a = 0; a < axes_of(l); ++a) {
        const ChipLevel& level = chip_.levels[l];
        names.push_back(axes_of(l) == 1 && level.axes[a].name == level.name ? level.name : dotted(l, a));
      }
    if (names.empty()) return "no level of the arch has units: write 'pe[16x16]'";
    const std::string near = nearest_name(par_.axis, names);
    return fmt::format(
        "{}one of: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, ", "));
  }

  const MappingProgram& program_;
  const ChipProgram& chip_;
  const int level_;
  const ChipPar& par_;
  const Position& position_;
};

}  // namespace

Expected<std::pair<int, int>> find_axis(
    const MappingProgram& program, const ChipProgram& chip, int level, const ChipPar& par, const Position& position) {
  return AxisFinder(program, chip, level, par, position).run();
}

}  // namespace stepcast::dataflow
