// Computes how many sets of buffers and how many calls one replay takes, so that no call finds its data in the level-2
// cache.
#pragma once

#include "calibrate/measure/method.h"
#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::calibrate {

struct Rotation {
  int copies = 1;      ///< sets of buffers
  int calls = 1;       ///< in one replay; goes round the sets
  bool flush = false;  ///< the cache is overwritten before each replay, and then no set comes twice in one
};

/// Sets of buffers for which there is memory. Fails where not even one fits, naming the sizes.
Expected<int> sets_that_fit(Bytes touched, Bytes free, const MethodRules& rules);

/// Cold: either the sets together exceed caches_between * l2 and are gone round in full, or each is used once after a
/// flush. Warm: one set, no flush. `free` times memory_share bounds the sets. Fails where not even one set fits.
/// What touches no memory (launches) needs no rotation.
Expected<Rotation> cold_rotation(Bytes touched, Bytes l2, Seconds per_call, Bytes free, const MethodRules& rules);
Rotation warm_rotation(Seconds per_call, const MethodRules& rules);

/// The assertion behind every cold figure: between two uses of a set at least twice the cache was touched, by calls or
/// by the flush. sample() refuses to time what does not hold it.
bool is_cold(const Rotation& rotation, Bytes touched, Bytes l2);

}  // namespace stepcast::calibrate
