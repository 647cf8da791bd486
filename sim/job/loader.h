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

/// Which samples a cache keeps that has no room for all of them. Each epoch reads every sample once, in a new order.
///   first   those that came first stay (MinIO of CoorDL, Mohan et al., VLDB 2021, arXiv 2007.06775): hits = room
///   recent  those that were used last (a page cache): a sample at place x of one epoch and y of the next, from 0 to 1,
///           has 1 - x + x y others behind it and is there if that is less than the room: the integral over x and y
///           is hits = room + (1 - room) ln(1 - room)
enum class CacheKeeps : std::uint8_t { first, recent };
/// Of the samples of an epoch after the first one, the share that is found; `room` is the cache over the data set.
double cache_hits(double room, CacheKeeps keeps);
/// In an epoch with so many hits, where a batch of hits alone takes `cached`; storage is asked for the others.
Loader with_hits(Loader loader, double hits, Seconds cached);

/// Mean time that a step of `step` waits for its batch, in the long run. Exact: for exponential times the chain of
/// batches that are ready when a step begins, whose births in between are a pure birth process (by uniformisation); for
/// equal ones a step waits as much as a batch of all workers takes longer than it.
Seconds loader_wait(const Loader& loader, Seconds step);

/// The same of `ranks` loaders whose steps begin together: the mean over so many steps, drawn.
Seconds drawn_loader_wait(const Loader& loader, Seconds step, std::int64_t ranks, std::int64_t steps, Draws& draws);

}  // namespace stepcast::sim
