// Times of a chunk, and of the moves of a block, priced anew for each question.
#pragma once

#include <vector>

#include "sim/streams.h"
#include "sim/streams/walk.h"

namespace stepcast::sim {

inline ChunkTimes chunk_times(const Program& program, const Chunk& chunk, const CostModel& cost) {
  const WalkLists lists = walk_lists(program, price_blocks(program, cost));
  return walk_for(lists, cost).times(chunk);
}

/// Time and exposed time of each move of a block, per micro-batch (steady repeat). Same order as ProgramBlock::moves.
struct MoveTimes {
  std::vector<Seconds> time, exposed;
  std::vector<Price> price;
};
inline MoveTimes move_times(const Program& program, int block, const CostModel& cost) {
  const std::vector<BlockPrices> prices = price_blocks(program, cost);
  const WalkLists lists = walk_lists(program, prices);
  ChunkWalk walk = walk_for(lists, cost);
  const std::int64_t settled = 4 + prices[block].ahead;
  const ChunkTimes fewer = walk.times({0, 0, {{block, settled}}}), more = walk.times({0, 0, {{block, settled + 1}}});
  MoveTimes times;
  times.price = prices[block].moves;
  for (std::size_t i = 0; i < times.price.size(); ++i) {
    times.time.push_back(times.price[i].time);
    const std::size_t flat = prices[block].first_move + i;
    times.exposed.push_back(more.exposed[flat] - fewer.exposed[flat]);
  }
  return times;
}

}  // namespace stepcast::sim
