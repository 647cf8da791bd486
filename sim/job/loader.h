// A loader with a bounded buffer: workers make batches ahead of the steps that take them. What a step waits for data.
#pragma once

#include <cstdint>

#include "model/base/units.h"
#include "sim/job/draws.h"

namespace stepcast::sim {

/// One rank's loader. At most `workers` x `prefetch` batches are made or ready; a worker makes one after the other
/// while there is room (torch.utils.data.DataLoader, num_workers and prefetch_factor; ready batches are taken in any
/// order).
struct Loader {
  std::int64_t workers = 1, prefetch = 2;
  Seconds make;        ///< mean time of a worker for a batch: read, decode or tokenize
  bool varies = true;  ///< times are exponential, as of documents of all lengths; else all alike
  /// the workers together make at most so many batches per second, what storage gives; 0: no limit
  double most_per_second = 0;
};

/// Mean time that a step of `step` waits for its batch, in the long run. Exact: for exponential times the chain of
/// batches that are ready when a step begins, whose births in between are a pure birth process (by uniformisation); for
/// equal ones a step waits as much as a batch of all workers takes longer than it.
Seconds loader_wait(const Loader& loader, Seconds step);

/// The same of `ranks` loaders whose steps begin together: the mean over so many steps, drawn.
Seconds drawn_loader_wait(const Loader& loader, Seconds step, std::int64_t ranks, std::int64_t steps, Draws& draws);

}  // namespace stepcast::sim
