#include "tests/dataflow/execute_moves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace stepcast::dataflow {

void refuse(std::string what) { throw RunFailed{std::move(what)}; }

bool nearly_equal(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

std::string Collectives::name_of(int copy) const {
  const Copy& c = placed_.copies[copy];
  return fmt::format(
      "{}{} ({})", c.gradient ? "d" : "", net_.tensors[c.tensor].name, to_text(c.place, net_, c.tensor, mesh_));
}

Part Collectives::joined(int copy, const RankParts& parts, const std::vector<int>& group, Join how) const {
  Part all = parts[group.front()];
  for (std::size_t i = 1; i < group.size(); ++i) {
    const Part& part = parts[group[i]];
    if (how != Join::together && part.held != all.held) refuse("ranks reduce different parts of " + name_of(copy));
    for (std::size_t e = 0; e < part.value.size(); ++e) {
      if (!part.held[e]) continue;
      if (how == Join::sum) all.value[e] += part.value[e];
      else if (how == Join::softmax) {
        const double both = all.sums[e] + part.sums[e];
        if (both > 0) all.value[e] = (all.value[e] * all.sums[e] + part.value[e] * part.sums[e]) / both;
        all.sums[e] = both;
      } else if (how == Join::max) all.value[e] = std::max(all.value[e], part.value[e]);
      else if (all.held[e] && !nearly_equal(all.value[e], part.value[e]))
        refuse("ranks gather different values of " + name_of(copy));
      else all.value[e] = part.value[e];
      all.held[e] = 1;
    }
  }
  if (how == Join::softmax) all.sums.clear();
  return all;
}

/// How Partial copies of the tensor add up: a gradient always by sum.
Collectives::Join Collectives::reduction_of(const Copy& copy, const RankParts& parts) const {
  if (!parts.front().sums.empty()) return Join::softmax;
  if (!copy.gradient)
    for (const Operator& op : block_.operators)
      if (op.output.tensor == copy.tensor && op.monoid == Monoid::max) return Join::max;
  return Join::sum;
}

Part Collectives::on_rank(const PlacedItem& item, const RankParts& parts, int rank) const {
  const int from = item.reads.front();
  const Copy& source = placed_.copies[from];
  const Placement& to = placed_.copies[item.writes.front()].place;
  const std::vector<int> group = layout_.group(rank, item.atoms);
  const bool ring_gather = item.move == MoveKind::ring && to.at[std::countr_zero(item.atoms)] == replicated;
  Part part;
  switch (item.move) {
    case MoveKind::slice: part = parts[rank]; break;
    case MoveKind::mask: return masked(item, parts, rank);
    case MoveKind::all_gather:
    case MoveKind::all_to_all: part = joined(from, parts, group, Join::together); break;
    case MoveKind::all_reduce:
    case MoveKind::reduce_scatter: part = joined(from, parts, group, reduction_of(source, parts)); break;
    case MoveKind::ring:
      part = joined(from, parts, group, ring_gather ? Join::together : reduction_of(source, parts));
      break;
    case MoveKind::send_recv: refuse("a send inside a block");
  }
  // Of what arrived, each rank keeps the shard that the moved atoms give it.
  const std::vector<char> mine = layout_.holds(source.tensor, to, rank, item.atoms);
  for (std::size_t e = 0; e < mine.size(); ++e) part.held[e] = part.held[e] && mine[e];
  return part;
}

/// Replicate -> Partial: coordinate 0 keeps. Shard -> Partial: zeros beside the shard.
Part Collectives::masked(const PlacedItem& item, const RankParts& parts, int rank) const {
  const Copy& source = placed_.copies[item.reads.front()];
  const double nothing = reduction_of(source, parts) == Join::max ? -std::numeric_limits<double>::infinity() : 0;
  Part part = parts[rank];
  for (int other : layout_.group(rank, item.atoms)) {
    const auto& held = parts[other].held;
    for (std::size_t e = 0; e < held.size(); ++e)
      if (held[e] && !part.held[e]) {
        part.held[e] = 1;
        part.value[e] = nothing;
      }
  }
  for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
    if ((item.atoms >> a & 1U) && source.place.at[a] == replicated && layout_.coordinate(rank, a) != 0)
      std::fill(part.value.begin(), part.value.end(), nothing);
  return part;
}

RankParts Collectives::moved(const PlacedItem& item, const RankParts& source) const {
  RankParts made;
  for (int r = 0; r < layout_.ranks(); ++r) made.push_back(on_rank(item, source, r));
  return made;
}

bool Collectives::travels(const PlacedItem& item, std::size_t element) const {
  const int cache = placed_.copies[item.reads.front()].tensor;
  if (net_.tensors[cache].role != TensorRole::cache) return true;
  for (const Operator& op : block_.operators) {
    if (op.output.tensor != cache) continue;
    const int rows = op.inputs.front().tensor;
    bool made_by_all = false;
    for (const Copy& copy : placed_.copies) {
      bool whole = copy.tensor == rows;
      for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
        whole = whole && (!(item.atoms >> a & 1U) || copy.place.at[a] == replicated);
      made_by_all = made_by_all || whole;
    }
    const auto extent = [&](int tensor) { return net_.dims[net_.tensors[tensor].dims[1]].extent; };
    std::size_t inner = 1;
    for (std::size_t d = 2; d < net_.tensors[cache].dims.size(); ++d)
      inner *= static_cast<std::size_t>(net_.dims[net_.tensors[cache].dims[d]].extent);
    const auto position = static_cast<std::int64_t>(element / inner) % extent(cache);
    return !made_by_all || position < extent(cache) - extent(rows);
  }
  return true;
}

/// Elements that reach each rank: what it did not hold; in a reduction each shard once from every other rank, and an
/// all-reduce is a scatter and a gather.
bool Collectives::check_received(const PlacedItem& item, const RankParts& parts, const RankParts& made) const {
  const Copy& source = placed_.copies[item.reads.front()];
  if (!layout_.even(source.tensor) || item.move == MoveKind::ring) return false;
  const double bytes = source.bytes / local_elements(net_, source.tensor, source.place, mesh_);
  // Of a cache the ranks have old and new positions by turns; here they lie in blocks: the mean counts.
  const bool of_cache = item.move == MoveKind::all_gather && net_.tensors[source.tensor].role == TensorRole::cache;
  double travelling = 0;
  for (int r = 0; of_cache && r < layout_.ranks(); ++r)
    for (std::size_t e = 0; e < parts[r].held.size(); ++e)
      travelling += made[r].held[e] && !parts[r].held[e] && travels(item, e);
  for (int r = 0; r < layout_.ranks(); ++r) {
    const Part& before = parts[r];
    double fresh = 0, kept = 0;
    for (std::size_t e = 0; e < before.held.size(); ++e) {
      fresh += made[r].held[e] && !before.held[e] && travels(item, e);
      kept += made[r].held[e] != 0;
    }
    const auto ranks = static_cast<double>(layout_.group(r, item.atoms).size());
    double elements = item.move == MoveKind::mask ? 0 : fresh;
    if (of_cache) elements = travelling / layout_.ranks();
    if (item.move == MoveKind::reduce_scatter) elements = (ranks - 1) * kept;
    if (item.move == MoveKind::all_reduce) elements = 2 * (ranks - 1) / ranks * kept;
    double received = elements * bytes;
    if (!before.sums.empty()) {  // maxima of rows, all to all ranks; then sums beside the results; in fp32
      const auto& dims = net_.tensors[source.tensor].dims;
      const auto width = static_cast<double>(net_.dims[dims.back()].extent),
                 held = static_cast<double>(std::count(before.held.begin(), before.held.end(), 1));
      received = 4 * (2 * (ranks - 1) / ranks * held / width + elements / width * (width + 1));
    }
    if (!nearly_equal(received, item.received))
      refuse(fmt::format("move of {} to {} receives {} bytes on rank {}, not {}", name_of(item.reads.front()),
          name_of(item.writes.front()), received, r, item.received));
  }
  return true;
}

}  // namespace stepcast::dataflow
