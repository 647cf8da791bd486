#include "sim/job/unit_costs.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace stepcast::sim {
namespace {

double drawn_length(const Documents& documents, Draws& draws) {
  const auto count = static_cast<double>(documents.lengths.size());
  return std::min(documents.sequence, documents.lengths[static_cast<std::size_t>(count * draws.unit())]);
}

UnitCost padded_unit(const Documents& documents, Draws& draws) {
  double longest = 0;
  for (std::int64_t one = 0; one < documents.sequences; ++one)
    longest = std::max(longest, drawn_length(documents, draws));
  const double share = longest / documents.sequence;
  return {share, share * share};
}

/// Pieces of a stream of documents that is cut every `sequence` tokens, over the square of a sequence.
UnitCost packed_unit(const Documents& documents, Draws& draws) {
  double pairs = 0;
  for (std::int64_t one = 0; one < documents.sequences; ++one)
    for (double room = documents.sequence; room > 0;) {
      const double piece = std::min(room, drawn_length(documents, draws));
      pairs += piece * piece, room -= piece;
    }
  return {1, pairs / (documents.sequence * documents.sequence * static_cast<double>(documents.sequences))};
}

std::vector<UnitCost> balanced_units(const Documents& documents, std::int64_t count, Draws& draws) {
  const double capacity = documents.sequence * static_cast<double>(documents.sequences);
  std::vector<double> pieces;
  for (double left = capacity * static_cast<double>(count); left > 0; left -= pieces.back())
    pieces.push_back(std::min(left, drawn_length(documents, draws)));
  std::ranges::sort(pieces, std::greater<>());
  struct Bin {
    double pairs = 0, room = 0;
    bool operator>(const Bin& other) const { return pairs > other.pairs; }
  };
  std::priority_queue<Bin, std::vector<Bin>, std::greater<>> bins;
  for (std::int64_t one = 0; one < count; ++one) bins.push({0, capacity});
  std::vector<UnitCost> units;
  const auto close = [&](const Bin& bin) { units.push_back({1, bin.pairs / (documents.sequence * capacity)}); };
  for (double piece : pieces)
    while (piece > 0 && !bins.empty()) {
      Bin bin = bins.top();
      bins.pop();
      const double part = std::min(piece, bin.room);
      bin.pairs += part * part, bin.room -= part, piece -= part;
      if (bin.room > 0) bins.push(bin);
      else close(bin);
    }
  for (; !bins.empty(); bins.pop()) close(bins.top());     // what rounding left open
  for (std::size_t last = units.size(); last > 1; --last)  // bins close in the order of their pairs
    std::swap(units[last - 1], units[static_cast<std::size_t>(static_cast<double>(last) * draws.unit())]);
  return units;
}

}  // namespace

std::vector<UnitCost> filled_units(const Documents& documents, std::int64_t count, Draws& draws) {
  if (documents.fill == Fill::balanced) return balanced_units(documents, count, draws);
  std::vector<UnitCost> units;
  for (std::int64_t one = 0; one < count; ++one)
    units.push_back(documents.fill == Fill::padded ? padded_unit(documents, draws) : packed_unit(documents, draws));
  return units;
}

void deal(std::vector<UnitCost>& units, std::int64_t copies, double attending, Dealing dealing) {
  if (dealing == Dealing::as_they_come) return;
  std::ranges::sort(units, std::greater<>(), [&](const UnitCost& unit) { return unit.with(attending); });
  const std::size_t each = units.size() / static_cast<std::size_t>(copies);
  std::vector<std::vector<UnitCost>> of_copy(static_cast<std::size_t>(copies));
  using Load = std::pair<double, std::size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t copy = 0; copy < of_copy.size(); ++copy) loads.emplace(0, copy);
  for (std::size_t index = 0; index < units.size(); ++index) {
    if (dealing == Dealing::sorted) {
      of_copy[index % of_copy.size()].push_back(units[index]);
      continue;
    }
    auto [load, copy] = loads.top();
    loads.pop();
    of_copy[copy].push_back(units[index]);
    if (of_copy[copy].size() < each) loads.emplace(load + units[index].with(attending), copy);
  }
  units.clear();
  for (const std::vector<UnitCost>& own : of_copy) units.insert(units.end(), own.begin(), own.end());
}

}  // namespace stepcast::sim
