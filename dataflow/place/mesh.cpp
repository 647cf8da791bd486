#include "dataflow/place/mesh.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::dataflow {
namespace {

std::string place_of(const Position& p) { return fmt::format("{}:{}:{}", p.file, p.line, p.column); }

std::string spelled(const MeshLine& line) {
  std::string text = "mesh";
  for (const auto& axis : line.axes) text += fmt::format(" {}:{}", axis.name, axis.size);
  return text;
}

Expected<void> check_products(std::span<const MeshLine> lines, std::int64_t gpus) {
  for (const MeshLine& line : lines) {
    std::int64_t product = 1;
    for (const auto& axis : line.axes) {
      if (axis.size < 1 || product > (std::int64_t{1} << 40) / axis.size)
        return fail(place_of(line.position),
            fmt::format("axis {} of size {} in '{}'", axis.name, axis.size, spelled(line)),
            "axis sizes are at least 1 and their product at most 2^40");
      product *= axis.size;
    }
    if (product != gpus)
      return fail(place_of(line.position),
          fmt::format("'{}' makes {} ranks, but the plan has {} GPUs", spelled(line), product, gpus),
          fmt::format("every mesh line factors the same ranks: their product must be {}", gpus));
  }
  return {};
}

}  // namespace

const Mesh::Axis* Mesh::find(const std::string& name) const {
  for (const Axis& axis : axes)
    if (axis.name == name) return &axis;
  return nullptr;
}

std::int64_t Mesh::size_of(AtomMask mask) const {
  std::int64_t size = 1;
  for (std::size_t a = 0; a < atoms.size(); ++a)
    if (mask >> a & 1U) size *= atoms[a].size;
  return size;
}

std::vector<std::string> Mesh::axis_names() const { return names_of(axes, &Axis::name); }

std::string Mesh::label(AtomMask mask) const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "*") + part; };
  // Whole axes first, in the order of the mesh lines; then parts of axes.
  for (const Axis& axis : axes)
    if (axis.atoms != 0 && (mask & axis.atoms) == axis.atoms) {
      add(axis.name);
      mask &= ~axis.atoms;
    }
  for (const Axis& axis : axes)
    if ((mask & axis.atoms) != 0) {
      add(fmt::format("{}/{}", axis.name, size_of(axis.atoms) / size_of(mask & axis.atoms)));
      mask &= ~axis.atoms;
    }
  return text;
}

Group Mesh::group(AtomMask mask) const {
  Group group = group_without_label(mask);
  group.label = label(mask);
  return group;
}

Group Mesh::group_without_label(AtomMask mask) const {
  Group group;
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    if (!(mask >> a & 1U)) continue;
    const Atom& atom = atoms[a];
    group.size *= atom.size;
    if (!group.digits.empty() && group.digits.back().stride * group.digits.back().size == atom.stride)
      group.digits.back().size *= atom.size;
    else group.digits.push_back({atom.stride, atom.size});
  }
  return group;
}

Expected<Mesh> make_mesh(std::span<const MeshLine> lines, std::int64_t gpus, std::span<const std::int64_t> extra_cuts) {
  TRY(check_products(lines, gpus));
  Mesh mesh;
  mesh.ranks = gpus;
  std::vector<std::int64_t> cuts{1, gpus};
  cuts.insert(cuts.end(), extra_cuts.begin(), extra_cuts.end());
  for (const MeshLine& line : lines) {
    std::int64_t stride = 1;
    for (const auto& axis : line.axes) {
      if (const Mesh::Axis* same = mesh.find(axis.name); same && (same->stride != stride || same->size != axis.size))
        return fail(place_of(line.position), fmt::format("axis {} has two meanings", axis.name),
            "an axis named in several mesh lines must cover the same ranks in each; use another name");
      if (!mesh.find(axis.name)) mesh.axes.push_back({axis.name, axis.size, stride, 0});
      stride *= axis.size;
      cuts.push_back(stride);
    }
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i + 1] % cuts[i] != 0)
      return fail(lines.empty() ? "mesh" : place_of(lines.back().position),
          fmt::format("no common refinement: cuts at {} and {}", cuts[i], cuts[i + 1]),
          "the partial products of all mesh lines must divide one another");
    mesh.atoms.push_back({cuts[i], cuts[i + 1] / cuts[i], false});
  }
  if (mesh.atoms.size() > max_atoms)
    return fail("mesh", fmt::format("{} atoms", mesh.atoms.size()), fmt::format("at most {} distinct cuts", max_atoms));
  for (Mesh::Axis& axis : mesh.axes)
    for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
      if (mesh.atoms[a].stride >= axis.stride && mesh.atoms[a].stride < axis.stride * axis.size)
        axis.atoms |= AtomMask{1} << a;
  return mesh;
}

}  // namespace stepcast::dataflow
