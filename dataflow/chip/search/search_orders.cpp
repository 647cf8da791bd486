// Loop orders that differ, and mappings as the counter and the printer want them.
#include <algorithm>

#include "dataflow/chip/search/search_space.h"
#include "model/base/contains.h"

namespace stepcast::dataflow::mapper {
namespace {

constexpr std::size_t most_permuted = 7;  // 7! = 5,040 orders are told apart; beyond, the innermost two loops are
constexpr std::size_t most_window_orders = 48;

/// What an order means to one tensor: the loops inside its innermost own one cost it nothing. A sliding window also
/// cares for the order of its own loops.
struct Meaning {
  std::uint32_t idle = 0;
  Order own;
  friend bool operator==(const Meaning&, const Meaning&) = default;
};
using Meanings = std::vector<Meaning>;

Meaning meaning_of(const Space& space, int tensor, const Order& order, bool in_full) {
  Meaning meaning;
  auto loop = order.rbegin();
  for (; loop != order.rend() && !(space.uses[tensor] >> *loop & 1U); ++loop) meaning.idle |= 1U << *loop;
  if (!space.windowed[tensor]) return meaning;
  for (; loop != order.rend(); ++loop) {
    if (!(space.uses[tensor] >> *loop & 1U)) continue;
    meaning.own.push_back(*loop);
    if (!in_full) break;
  }
  return meaning;
}

bool leaves_less(const Meanings& a, const Meanings& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    if ((a[t].idle & ~b[t].idle) != 0 || a[t].own != b[t].own) return false;
  return true;
}

bool as_stated(const SearchConstraints::Level& level, const Order& order) {
  auto from = order.begin();
  for (const SearchConstraints::Loop& loop : level.time) {
    const auto at = std::find(order.begin(), order.end(), loop.dim);
    if (at == order.end()) continue;
    if (at < from) return false;
    from = at;
  }
  return true;
}

std::vector<Order> permutations(const SearchConstraints::Level& level, Order dims) {
  std::vector<Order> all;
  const std::size_t still = dims.size() > most_permuted ? dims.size() - 2 : 0;
  if (still == 0) {
    do {
      if (as_stated(level, dims)) all.push_back(dims);
    } while (std::next_permutation(dims.begin(), dims.end()));
    return all;
  }
  for (const auto last : dims)
    for (const auto before : dims) {
      if (last == before) continue;
      Order order;
      for (const auto d : dims)
        if (d != last && d != before) order.push_back(d);
      order.push_back(before);
      order.push_back(last);
      if (as_stated(level, order)) all.push_back(order);
    }
  return all;
}

std::vector<Order> distinct_orders(const Space& space, const std::vector<Order>& all, TensorMask moving, bool in_full) {
  std::vector<Order> kept;
  std::vector<Meanings> meanings;
  for (const Order& order : all) {
    Meanings mine;
    for (int t = 0; t < space.tensors; ++t)
      if (moving >> t & 1U) mine.push_back(meaning_of(space, t, order, in_full));
    if (std::any_of(meanings.begin(), meanings.end(), [&](const Meanings& other) { return leaves_less(mine, other); }))
      continue;
    for (std::size_t i = kept.size(); i-- > 0;) {
      if (!leaves_less(meanings[i], mine)) continue;
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      meanings.erase(meanings.begin() + static_cast<std::ptrdiff_t>(i));
    }
    kept.push_back(order);
    meanings.push_back(std::move(mine));
  }
  return kept;
}

}  // namespace

std::vector<Order> orders_of(const Space& space, int level, std::uint32_t active, TensorMask moving, bool& limited) {
  const SearchConstraints::Level& stated = space.constraints.levels[level];
  Order dims;
  for (const SearchConstraints::Loop& loop : stated.time)
    if (active >> loop.dim & 1U) dims.push_back(static_cast<std::int8_t>(loop.dim));
  for (int d = 0; d < space.dims; ++d)
    if ((active >> d & 1U) && !contains(dims, d)) dims.push_back(static_cast<std::int8_t>(d));
  if (moving == 0 || dims.size() < 2) return {dims};
  limited = limited || dims.size() > most_permuted;
  std::sort(dims.begin(), dims.end());
  const std::vector<Order> all = permutations(stated, dims);
  std::vector<Order> kept = distinct_orders(space, all, moving, true);
  if (kept.size() <= most_window_orders) return kept;
  limited = true;
  return distinct_orders(space, all, moving, false);
}

ChipProgram chip_of(const Space& space, const Mapping& mapping) {
  ChipProgram chip = space.chip;
  for (int l = 0; l < space.levels; ++l) {
    ChipLevel& level = chip.levels[l];
    level.space = mapping.space[l];
    level.time.clear();
    for (int i = 0; i < space.dims; ++i) {
      const int d = mapping.order[l][i];
      if (mapping.time[l][d] > 1)
        level.time.push_back({d, mapping.time[l][d], -1, space.grids[d].padded > space.grids[d].extent, {}});
    }
    for (int t = 0; t < space.tensors; ++t) level.keeps[t] = (mapping.keeps[l] >> t & 1U) != 0;
    level.store = mapping.keeps[l] != 0;
  }
  return chip;
}

}  // namespace stepcast::dataflow::mapper
