// What one row of the schedule table says: the sizes that a kind of schedule takes, how it makes its order, and what is
// known about such orders without making them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

struct ScheduleSize {
  int ranks = 1;          ///< p
  int chunks = 1;         ///< v, virtual stages per rank
  int micro_batches = 1;  ///< m
  int group = 0;          ///< micro-batches per block of interleaving; 0 = p, and half of that for gis
  int slices = 1;         ///< of the sequence
};

/// What a kind that builds its order from times knows: per virtual stage, one micro-batch, and what memory allows.
struct OrderTimes {
  std::vector<double> forward, input_grad, weight_grad;  ///< ranks*chunks_of() entries
  double hop = 0;
  double memory_cap = 0;  ///< activations held until W per rank, in chunks (the unit of peak_activations); 0 = none
};

/// A row of the schedule table. `legal` explains with the nearest legal values; it is asked after the rules that hold
/// for all kinds: positive counts, and no chunks, group or slices where the kind takes none. Without it all sizes are.
struct ScheduleKind {
  std::string id, name, source;
  bool takes_chunks = false;
  bool takes_group = false;
  bool takes_slices = false;
  bool takes_cap = false;
  int own_chunks = 0;  ///< V kinds: 2, whether the user says so or leaves it out; 0 = as asked
  int directions = 1;  ///< 2: `micro_batches` counts both
  bool splits_backward = false;
  bool holds_all = false;     ///< every forward of a rank comes before its first backward
  bool equal_rounds = false;  ///< micro-batches pass in rounds of equal size: orders::group_of_rounds
  /// plain 1F1B: once rank r holds p-r micro-batches, it runs one forward, then one backward
  bool one_by_one = false;
  bool pairs = false;  ///< a forward and a backward run at once, and their hops go in one batch
  Expected<void> (*legal)(const ScheduleSize&) = nullptr;
  Order (*make)(const ScheduleSize&) = nullptr;
  /// Kinds that schedule by the times at hand (greedy, auto); `make` is then null.
  Expected<Order> (*make_timed)(const ScheduleSize&, const OrderTimes&) = nullptr;
  /// Activations that a rank holds at most, whatever the times; null where no formula is exact.
  std::int32_t (*peak)(const ScheduleSize&, int rank) = nullptr;
};

/// Virtual stages per rank of one copy of the model: a micro-batch's work on a rank is shared by these.
inline int chunks_of(const ScheduleKind& kind, const ScheduleSize& size) {
  return kind.own_chunks > 0 ? kind.own_chunks : size.chunks;
}

}  // namespace stepcast::sim
