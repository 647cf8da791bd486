#include "sim/streams.h"

#include <algorithm>
#include <cassert>

#include "sim/streams/walk.h"

namespace stepcast::sim {

namespace {

bool exchanges_rows(const Move& move) { return move.kind == MoveKind::all_to_all && move.experts > 0; }

bool launched(const Stack& stack, bool routed) {
  return stack.captured == Capture::nothing || (stack.captured == Capture::static_parts && routed);
}

// How much slower the kernels of a list run because the host cannot launch them as fast as the GPU could run them. The
// host goes on launching while the GPU waits for rows from other ranks.
double host_stretch(
    const ProgramBlock& block, const BlockPrices& prices, const std::vector<Item>& items, const CostModel& cost) {
  const Stack& stack = cost.stack();
  Seconds kernels, exchanges;
  double calls = 0;
  for (const Item& item : items) {
    if (item.is_move) {
      const Move& move = block.moves[item.index];
      if (launched(stack, exchanges_rows(move))) calls += move.launches;
      if (exchanges_rows(move)) exchanges += prices.moves[item.index].time;
    } else {
      const KernelWork& work = block.works[item.index];
      if (launched(stack, work.routed)) calls += work.host_calls * work.launches;
      kernels += prices.works[item.index].time;
    }
  }
  const Seconds host = Seconds(cost.tuning()[StepParameter::host_per_launch] * calls) - exchanges;
  return kernels.value() > 0 && host > kernels ? host / kernels : 1;
}

// Exchanges of one micro-batch's rows beside the compute of another (Megatron-Core's combined forward and backward, the
// pairs of DualPipe), in `share` of the passes. Gives the factor on kernels: what hides slows them as any collective
// beside them does. What compute is too short for stays in the moves' times.
double hide_exchanges(const ProgramBlock& block, double share, double slowdown, BlockPrices& prices) {
  Seconds compute, exchanges;
  for (const Price& price : prices.works) compute += price.time;
  for (std::size_t i = 0; i < block.moves.size(); ++i)
    if (exchanges_rows(block.moves[i])) exchanges += prices.moves[i].time;
  if (exchanges.value() <= 0 || compute.value() <= 0) return 1;
  const Seconds hidden = std::min(compute, exchanges) * share;
  const double shown = (exchanges - hidden) / exchanges;
  for (std::size_t i = 0; i < block.moves.size(); ++i)
    if (exchanges_rows(block.moves[i])) prices.moves[i].time = prices.moves[i].time * shown;
  return 1 + hidden / compute * (slowdown / (1 + slowdown));
}

/// In all that CostModel::move() asks.
bool cost_alike(const Move& a, const Move& b) {
  return a.kind == b.kind && a.cargo == b.cargo && a.group == b.group && a.received == b.received &&
         a.launches == b.launches && a.steps == b.steps && a.max_rank_factor == b.max_rank_factor &&
         a.experts == b.experts && a.choices == b.choices && a.groups == b.groups && a.top_groups == b.top_groups &&
         a.again == b.again && a.element_bytes == b.element_bytes && a.for_product == b.for_product;
}

BlockPrices price_block(const Program& program, const ProgramBlock& block, const CostModel& cost) {
  BlockPrices prices;
  prices.works.reserve(block.works.size());
  prices.moves.reserve(block.moves.size());
  for (const KernelWork& work : block.works) prices.works.push_back(cost.work(work));
  for (const Move& move : block.moves) {
    // A layer gathers and scatters the same stream several times.
    const auto known =
        std::find_if(block.moves.begin(), block.moves.begin() + static_cast<std::ptrdiff_t>(prices.moves.size()),
            [&](const Move& other) { return cost_alike(other, move); });
    const auto at = static_cast<std::size_t>(known - block.moves.begin());
    prices.moves.push_back(at < prices.moves.size() ? prices.moves[at] : price_move(program, move, cost));
    prices.ahead = std::max(prices.ahead, move.ahead);
  }
  return prices;
}

bool same_runs(const Chunk& a, const Chunk& b) {
  return std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
      [](const BlockRun& x, const BlockRun& y) { return x.block == y.block && x.count == y.count; });
}

}  // namespace

Price price_move(const Program& program, const Move& move, const CostModel& cost) {
  static const Group alone;
  return cost.move(move, move.group < 0 ? alone : program.groups[move.group]);
}

std::vector<BlockPrices> price_items(const Program& program, const CostModel& cost) {
  std::vector<BlockPrices> prices;
  prices.reserve(program.blocks.size());
  int moves = 0;
  for (const ProgramBlock& block : program.blocks) {
    prices.push_back(price_block(program, block, cost));
    prices.back().first_move = moves;
    moves += static_cast<int>(block.moves.size());
  }
  return prices;
}

void pair_passes(const Program& program, const CostModel& cost, double paired, std::vector<BlockPrices>& prices) {
  if (cost.stack().expert_moves == Manners::overlapped) paired = 1;
  const double contention = cost.tuning()[StepParameter::contention];
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    const ProgramBlock& block = program.blocks[b];
    const double beside = paired > 0 ? hide_exchanges(block, paired, contention, prices[b]) : 1;
    prices[b].forward_stretch = std::max(beside, host_stretch(block, prices[b], block.forward, cost));
    prices[b].backward_stretch = std::max(beside, host_stretch(block, prices[b], block.backward, cost));
  }
}

std::vector<BlockPrices> price_passes(const Program& program, const CostModel& cost, double paired) {
  std::vector<BlockPrices> prices = price_items(program, cost);
  pair_passes(program, cost, paired, prices);
  return prices;
}

std::vector<BlockPrices> price_blocks(const Program& program, const CostModel& cost, double paired) {
  std::vector<BlockPrices> prices = price_passes(program, cost, paired);
  for (std::size_t b = 0; b < program.blocks.size(); ++b)
    for (const Move& move : program.blocks[b].step_moves)
      prices[b].step_moves.push_back(price_move(program, move, cost));
  return prices;
}

std::vector<ChunkTimes> all_chunk_times(
    const Program& program, const std::vector<BlockPrices>& prices, const CostModel& cost) {
  const WalkLists lists = walk_lists(program, prices);
  ChunkWalk walk = walk_for(lists, cost);
  std::vector<ChunkTimes> times;
  times.reserve(program.chunks.size());
  for (std::size_t i = 0; i < program.chunks.size(); ++i) {
    std::size_t like = 0;
    while (like < i && !same_runs(program.chunks[like], program.chunks[i])) ++like;
    times.push_back(like < i ? times[like] : walk.times(program.chunks[i]));
  }
  return times;
}

}  // namespace stepcast::sim
