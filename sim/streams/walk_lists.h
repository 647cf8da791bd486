// The lists of blocks as a walk meets them: of each item its seconds, and of what it waits for the part that can hold
// it up. A walk asks an item many times, a program's items and prices are large: what it needs lies side by side here.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/program.h"
#include "sim/streams/chunk_times.h"

namespace stepcast::sim {

struct WalkItem {
  enum class Kind : std::uint8_t {
    kernel,
    beside,    ///< a move on its fabric's stream
    blocking,  ///< a move that compute stands still for
  };
  double seconds = 0;            ///< of a kernel at the pace of its list
  int move = -1;                 ///< by BlockPrices::first_move + move; -1: a kernel
  int after = 0, after_end = 0;  ///< part of WalkList::after
  int ahead = 0;                 ///< Move::ahead
  Kind kind = Kind::kernel;
  Pass pass = Pass::forward;
  std::uint8_t tier = 0;
  /// Does it wait for what the block before hands on? Not when an item that it waits for did.
  bool waits = false;
  bool hands_on = false;  ///< to the block behind
};

struct WalkList {
  std::vector<WalkItem> items;
  /// Earlier items of the list, by position. Compute runs one after the other, so that kernels and moves that it stands
  /// still for can only be held up by moves beside it: of all others they have none.
  std::vector<int> after;
  std::vector<int> early;   ///< items that may start in an earlier block: weight gathers
  std::vector<int> beside;  ///< items of that kind
};

struct WalkBlock {
  WalkList forward, backward;
  int ahead = 0;  ///< the furthest that any of them may start early, in blocks
};

struct WalkLists {
  std::vector<WalkBlock> blocks;
  int moves = 0;  ///< of all blocks
};

/// `prices` of the program's blocks.
WalkLists walk_lists(const Program& program, const std::vector<BlockPrices>& prices);

}  // namespace stepcast::sim
