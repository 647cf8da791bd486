#include "sim/layer_costs.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "sim/streams.h"
#include "sim/streams/walk.h"

namespace stepcast::sim {
namespace {

/// Blocks by layer, in order, and those before and behind the layers.
struct BlockOrder {
  std::vector<int> layers;
  std::vector<BlockRun> before, after;
};

BlockOrder block_order(const Program& program) {
  BlockOrder order;
  const auto first = std::ranges::find_if(program.blocks, [](const ProgramBlock& block) { return block.is_layer; });
  const auto first_layer = static_cast<int>(first - program.blocks.begin());
  for (const Chunk& chunk : program.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (program.blocks[run.block].is_layer) {
        order.layers.insert(order.layers.end(), static_cast<std::size_t>(run.count), run.block);
      } else {
        (run.block < first_layer ? order.before : order.after).push_back(run);
      }
    }
  }
  return order;
}

/// Runs laid out once each; asked for by position.
class Probes {
 public:
  std::size_t add(std::vector<BlockRun> runs) {
    chunks_.push_back({0, 0, std::move(runs)});
    return chunks_.size() - 1;
  }

  void time(const WalkLists& lists, const CostModel& cost) {
    ChunkWalk walk = walk_for(lists, cost);
    for (const Chunk& chunk : chunks_) times_.push_back(walk.times(chunk));
  }

  /// A part that hides behind its neighbours costs nothing.
  [[nodiscard]] double more(std::size_t with, std::size_t without) const {
    return std::max(0.0, total(with) - total(without));
  }

 private:
  [[nodiscard]] double total(std::size_t probe) const {
    return (times_[probe].forward + times_[probe].backward()).value();
  }

  std::vector<Chunk> chunks_;
  std::vector<ChunkTimes> times_;
};

/// Copies of a block after which every further one takes as long as the last: moves may start that many blocks early.
std::int64_t settled_copies(const Program& program) {
  int ahead = 0;
  for (const ProgramBlock& block : program.blocks)
    for (const Move& move : block.moves) ahead = std::max(ahead, move.ahead);
  return 4 + ahead;
}

}  // namespace

PartitionProblem layer_costs(const Program& program, const CostModel& cost_of_machine, double paired) {
  const CostModel cost = cost_of_machine.with_ranks(program.ranks);
  return layer_costs(program, walk_lists(program, price_passes(program, cost, paired)), cost);
}

PartitionProblem layer_costs(const Program& program, const WalkLists& lists, const CostModel& cost) {
  const BlockOrder blocks = block_order(program);
  assert(!blocks.layers.empty());
  const std::int64_t copies = settled_copies(program);
  PartitionProblem problem;
  problem.stages = static_cast<int>(program.chunks.size());

  Probes probes;
  struct Pair {
    std::size_t few, more;
  };
  std::map<int, Pair> by_block;
  for (const int block : blocks.layers) {
    if (by_block.contains(block)) continue;
    by_block[block] = {probes.add({{block, copies}}), probes.add({{block, copies + 1}})};
  }
  const int first = blocks.layers.front(), last = blocks.layers.back();
  std::vector<BlockRun> opening = blocks.before, closing = {{last, copies}};
  opening.push_back({first, copies});
  closing.insert(closing.end(), blocks.after.begin(), blocks.after.end());
  const std::size_t open = probes.add(std::move(opening)), close = probes.add(std::move(closing));
  probes.time(lists, cost);

  for (const int block : blocks.layers)
    problem.layers.push_back(probes.more(by_block[block].more, by_block[block].few));
  problem.embedding = probes.more(open, by_block[first].few);
  problem.head = probes.more(close, by_block[last].few);
  return problem;
}

}  // namespace stepcast::sim
