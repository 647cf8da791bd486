#include "sim/fast/unit_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace stepcast::sim {

UnitMemory::UnitMemory(const Program& program) : blocks_(block_memories(program)) {
  std::vector<std::string> labels;
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    for (const Buffer& buffer : program.blocks[b].buffers) {
      if (buffer.count != Count::shared) continue;
      const auto known = std::find(labels.begin(), labels.end(), buffer.label);
      const int label = static_cast<int>(known - labels.begin());
      if (known == labels.end()) labels.push_back(buffer.label);
      shared_.push_back({static_cast<int>(b), label, buffer.bytes.value()});
    }
  }
  labels_ = static_cast<int>(labels.size());
}

double UnitMemory::saved(const std::vector<BlockRun>& runs) const {
  double bytes = 0;
  for (const BlockRun& run : runs) bytes += blocks_[run.block].saved.value() * static_cast<double>(run.count);
  return bytes;
}

double UnitMemory::gathered(const std::vector<BlockRun>& runs) const {
  double most = 0;
  for (const BlockRun& run : runs) {
    const BlockMemory& block = blocks_[run.block];
    most = std::max(most, block.gathered.value() * static_cast<double>(std::min(block.window, run.count)));
  }
  return most;
}

double UnitMemory::shared(const std::vector<BlockRun>& runs) const {
  constexpr std::size_t most_known = 64;
  if (shared_.empty()) return 0;
  if (blocks_.size() > most_known) return sum_shared(runs);
  std::uint64_t blocks = 0;
  for (const BlockRun& run : runs) blocks |= std::uint64_t{1} << run.block;
  const auto known = std::ranges::find(shared_by_, blocks, &SharedBytes::blocks);
  if (known != shared_by_.end()) return known->bytes;
  return shared_by_.emplace_back(SharedBytes{blocks, sum_shared(runs)}).bytes;
}

double UnitMemory::sum_shared(const std::vector<BlockRun>& runs) const {
  std::vector<double> most(static_cast<std::size_t>(labels_));
  std::vector<char> seen(blocks_.size());
  for (const BlockRun& run : runs) {
    if (std::exchange(seen[run.block], char{1}) != 0) continue;
    for (const SharedBuffer& buffer : std::ranges::equal_range(shared_, run.block, {}, &SharedBuffer::block))
      most[buffer.label] = std::max(most[buffer.label], buffer.bytes);
  }
  return std::accumulate(most.begin(), most.end(), 0.0);
}

void lay_memory(const UnitMemory& units, const StageShape& shape, MemoryOnShape& on) {
  std::vector<double> fullest;
  on.saved.clear();
  for (const std::vector<BlockRun>& runs : shape.kinds) {
    on.saved.push_back(units.saved(runs));
    fullest.push_back(units.fullest(runs).sum());
  }
  on.ranks.clear();
  for (const StageShape::RankKind& rank : shape.rank_kinds) {
    MemoryOnShape::OnRank here{0, units.gathered(rank.runs), units.shared(rank.runs)};
    for (std::size_t kind = 0; kind < rank.count.size(); ++kind)
      if (rank.count[kind] > 0) here.fullest = std::max(here.fullest, fullest[kind]);
    on.ranks.push_back(here);
  }
}

// The fullest rank has no less than any mean of the ranks. Weighted so that a layer of the heaviest block costs as much
// on each of them, the mean has at least what each layer costs where it costs least.
double least_tensor_bytes(
    const UnitMemory& units, const StepCosts& once, const HeldOnStages& held, std::span<const BlockRun> layers) {
  struct Layers {
    double count, persistent, saved;
    [[nodiscard]] double each(double in_flight) const { return persistent + in_flight * saved; }
  };
  std::vector<Layers> kinds;
  for (const BlockRun& run : layers)
    kinds.push_back({static_cast<double>(run.count), once.block(run.block).persistent, units.saved({{run.block, 1}})});
  if (kinds.empty()) return 0;    // no block of the Program is a layer
  std::vector<double> in_flight;  // by rank, of a layer wherever it lies on the rank, at one moment
  for (const std::vector<std::vector<int>>& moments : held) {
    int most = 0;
    for (const std::vector<int>& counts : moments) most = std::max(most, std::ranges::min(counts));
    in_flight.push_back(most);
  }
  const double some = std::accumulate(in_flight.begin(), in_flight.end(), 0.0) / static_cast<double>(held.size());
  const auto weight = [&](const Layers& kind) { return kind.count * kind.each(some); };
  const Layers heaviest = *std::ranges::max_element(kinds, {}, weight);
  double ranks = 0, bytes = 0;
  for (const double units_held : in_flight) {
    if (heaviest.each(units_held) <= 0) return 0;
    ranks += 1 / heaviest.each(units_held);
  }
  for (const Layers& kind : kinds) {
    double least = std::numeric_limits<double>::infinity();
    for (const double units_held : in_flight)
      least = std::min(least, kind.each(units_held) / heaviest.each(units_held));
    bytes += kind.count * least / ranks;
  }
  return bytes;
}

double tensor_bytes(const MemoryOnShape& units, const OnceOnShape& once, const HeldUnits& held) {
  double most = 0;
  for (std::size_t kind = 0; kind < held.size(); ++kind) {
    double in_flight = 0;
    for (const std::vector<int>& counts : held[kind]) {
      double bytes = 0;
      for (std::size_t stage = 0; stage < counts.size(); ++stage) bytes += counts[stage] * units.saved[stage];
      in_flight = std::max(in_flight, bytes);
    }
    const MemoryOnShape::OnRank& rank = units.ranks[kind];
    most = std::max(most, once.ranks[kind].persistent + rank.fullest + rank.gathered + rank.shared + in_flight);
  }
  return most;
}

}  // namespace stepcast::sim
