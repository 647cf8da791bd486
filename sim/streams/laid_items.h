// Items of a chunk with the moments at which they run.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

enum class LaidKind : std::uint8_t {
  kernel,
  wait,  ///< compute stands still for a move
  move,
};

/// Seconds from the begin of the list. Kernels and waits lie in their order, tile the list without gaps and are what
/// ChunkTimes sums up; moves lie beside them, on their tier.
struct LaidItem {
  LaidKind kind = LaidKind::kernel;
  Pass pass = Pass::forward;
  bool blocking = false;    ///< moves: compute waits for all of it
  int tier = 0;             ///< moves: level whose fabric carries it
  int block = 0, item = 0;  ///< of the program: its works or moves; a wait has the move that it is for
  int run = 0;              ///< of the chunk's runs: where the item stands (a wait: what waits)
  std::int64_t copy = 0;    ///< of the run's block, in forward order
  int waits_for = -1;       ///< waits: position of the move in the same list; -1 = not in it
  double start = 0, end = 0;
};

struct ListLayout {
  std::vector<LaidItem> items;
  double seconds = 0;
};

struct ChunkLayout {
  ListLayout forward, backward;
};

}  // namespace stepcast::sim
