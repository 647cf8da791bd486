#include "calibrate/fit/fit_overlap.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "model/base/percentile.h"
#include "model/profile/profile_names.h"

namespace stepcast::calibrate {
namespace {

enum class Mover : std::uint8_t { collective, device_copy, host_copy, none };

/// What counts first: collectives themselves. A product loses time to one in multiprocessors and memory traffic, and so
/// it does to a copy on the GPU. A collective waits for its links, as a copy from or to the host does; one within the
/// GPU has the memory as its bound, which it shares with the product.
constexpr std::array beside_products{Mover::collective, Mover::device_copy, Mover::host_copy};
constexpr std::array as_moves{Mover::collective, Mover::host_copy, Mover::device_copy};

Mover mover_named(const std::string& word) {
  for (const Choice<CollectiveKind>& kind : collective_names)
    if (word == kind.name) return Mover::collective;
  for (const TransferKind kind : {TransferKind::host_to_device, TransferKind::device_to_host})
    if (word == to_text(kind)) return Mover::host_copy;
  const MemoryOp* op = find_memory_op(word);
  return op != nullptr && op->group == "copy" ? Mover::device_copy : Mover::none;
}

struct MoverOf {
  Mover operator()(const CollectiveQuery&) const { return Mover::collective; }
  Mover operator()(const TransferQuery&) const { return Mover::host_copy; }
  Mover operator()(const MemoryQuery& query) const { return mover_named(std::string(query.op->id)); }
  template <typename Other> Mover operator()(const Other&) const { return Mover::none; }
};

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

struct Group {
  std::string neighbour;
  std::vector<double> ratios;
};

std::optional<FittedSlowdown> nearest_mover(const std::map<Mover, Group>& groups, std::span<const Mover> order) {
  for (const Mover mover : order) {
    const auto group = groups.find(mover);
    if (group == groups.end()) continue;
    const std::vector<double>& ratios = group->second.ratios;
    return FittedSlowdown{
        group->second.neighbour, std::max(0.0, percentile(ratios, 0.5) - 1), static_cast<int>(ratios.size())};
  }
  return std::nullopt;
}

}  // namespace

FittedOverlap fit_overlap(std::span<const RowPair> pairs) {
  FittedOverlap out;
  std::map<Mover, Group> products, moves;
  for (const RowPair& pair : pairs) {
    const std::string neighbour = first_word(pair.beside);
    const Mover beside = mover_named(neighbour), self = std::visit(MoverOf{}, pair.what);
    const bool product = std::holds_alternative<GemmQuery>(pair.what);
    if (product && beside != Mover::none) {
      products[beside].neighbour = neighbour;
      products[beside].ratios.push_back(pair.ratio);
    } else if (self != Mover::none && neighbour == "gemm") {
      moves[self].neighbour = neighbour;
      moves[self].ratios.push_back(pair.ratio);
    } else {
      ++out.other_pairs;
    }
  }
  out.products = nearest_mover(products, beside_products);
  out.moves = nearest_mover(moves, as_moves);
  return out;
}

}  // namespace stepcast::calibrate
