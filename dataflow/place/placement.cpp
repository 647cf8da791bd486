#include "dataflow/place/placement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"

namespace stepcast::dataflow {

std::string where_of(const Statement& s) {
  const Position& p = s.position;
  if (p.line == 0) return p.file.empty() ? "plan" : p.file;
  return fmt::format("{}:{}:{}", p.file, p.line, p.column);
}

bool in_scope(const std::vector<std::string>& scope, const Operator& op) {
  return scope.empty() || std::ranges::any_of(scope, [&](const std::string& tag) { return has_tag(op, tag); });
}

/// Scale bytes included: fp8 per tensor 0, blocks of 128 one fp32 each, mx one byte per 32 (rule 19).
double wire_bytes(const std::string& type) {
  struct Wire {
    const char* name;
    double bytes;
  };
  constexpr Wire wire_types[] = {
      {"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"fp8", 1}, {"fp8block", 1 + 4.0 / 128}, {"mxfp8", 1 + 1.0 / 32}};
  for (const Wire& wire : wire_types)
    if (type == wire.name) return wire.bytes;
  return 0;
}

Placement placement_of(const Access& access, const OperatorSplit& split, const Mesh& mesh, bool output) {
  Placement place;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    const int loop = split.loop[a];
    if (loop < 0) continue;
    const auto found = std::ranges::find(access.loops, loop);
    if (found != access.loops.end()) place.at[a] = static_cast<Slot>(found - access.loops.begin());
    else if (contains(access.row_loops, loop))
      place.at[a] = static_cast<Slot>(access.row_dim);  // rows follow their tokens (rule 27)
    else if (output) place.at[a] = partial_sum;
  }
  return place;
}

double local_elements(const Network& network, int tensor, const Placement& place, const Mesh& mesh) {
  double elements = network.elements(tensor);
  double flat = 1;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    if (place.at[a] >= 0) elements /= static_cast<double>(mesh.atoms[a].size);
    if (place.at[a] == flat_shard) flat *= static_cast<double>(mesh.atoms[a].size);
  }
  return flat == 1 ? elements : std::ceil(elements / flat);
}

double local_extent(const Network& network, int loop, const OperatorSplit& split, const Mesh& mesh) {
  auto extent = static_cast<double>(network.dims[loop].extent);
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
    if (split.loop[a] == loop) extent /= static_cast<double>(mesh.atoms[a].size);
  return extent;
}

std::string to_text(const Placement& place, const Network& network, int tensor, const Mesh& mesh) {
  std::string text;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    if (place.at[a] == replicated || mesh.atoms[a].stage) continue;
    const std::string what = place.at[a] == partial_sum  ? "partial"
                             : place.at[a] == flat_shard ? "*"
                                                         : network.dims[network.tensors[tensor].dims[place.at[a]]].name;
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", what, mesh.label(AtomMask{1} << a));
  }
  return text.empty() ? "full" : text;
}

}  // namespace stepcast::dataflow
