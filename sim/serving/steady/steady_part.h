// The part of a run in which its load is steady: without the start and without the end, when users are missing.
#pragma once

#include <cstddef>

#include "sim/serving/served_run.h"

namespace stepcast::sim {

struct SteadyPart {
  double words_per_second = 0;
  Seconds per_word, first_word;  ///< means over the requests that were sent in it
};

/// From the sending of request `first` to that of request `last`, which is behind it.
SteadyPart steady_part(const ServedRun& run, std::size_t first, std::size_t last);

}  // namespace stepcast::sim
