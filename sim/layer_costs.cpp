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

/// Seconds of forward and backward together: of a run of each block and of that with one copy more, and of the runs at
/// both ends of the layers.
struct LayerSpans {
  struct Run {
    double few = 0, more = 0;
  };
  std::map<int, Run> runs;
  double open = 0, close = 0;

  /// A part that hides behind its neighbours costs nothing.
  static double more(double with, double without) { return std::max(0.0, with - without); }
};

/// A walk through a run goes on into what follows it: forward through the last layers, backward through the first.
LayerSpans layer_spans(ChunkWalk walk, const BlockOrder& blocks, std::int64_t copies) {
  const int first = blocks.layers.front(), last = blocks.layers.back();
  Chunk opening{0, 0, blocks.before}, closing{0, 0, {{last, copies}}};
  opening.runs.push_back({first, copies});
  closing.runs.insert(closing.runs.end(), blocks.after.begin(), blocks.after.end());
  LayerSpans spans;
  for (const int block : blocks.layers) spans.runs.try_emplace(block);
  for (const bool forward : {true, false}) {
    const bool goes_on = !walk.starts_early();
    for (auto& [block, run] : spans.runs) {
      const bool closes = goes_on && forward && block == last, opens = goes_on && !forward && block == first;
      const auto here = walk.run_spans(closes ? closing : opens ? opening : Chunk{0, 0, {{block, copies}}}, forward);
      run.few += here.few, run.more += here.more;
      if (closes) spans.close += here.whole;
      if (opens) spans.open += here.whole;
    }
    if (!goes_on || forward) spans.open += walk.span(opening, forward);
    if (!goes_on || !forward) spans.close += walk.span(closing, forward);
  }
  return spans;
}

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

  LayerSpans spans = layer_spans(walk_for(lists, cost), blocks, copies);
  for (const int block : blocks.layers)
    problem.layers.push_back(LayerSpans::more(spans.runs[block].more, spans.runs[block].few));
  problem.embedding = LayerSpans::more(spans.open, spans.runs[blocks.layers.front()].few);
  problem.head = LayerSpans::more(spans.close, spans.runs[blocks.layers.back()].few);
  return problem;
}

}  // namespace stepcast::sim
