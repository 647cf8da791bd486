// The verdict that stands before all others: what does not fit in memory has no step time.
#pragma once

#include <string>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/memory.h"

namespace stepcast::run {

/// "does NOT fit in memory: rank 0 needs 105 GiB of 79.6 GiB, 25.4 GiB too much"; "" where it fits.
inline std::string too_much_memory(const MemoryReport& memory) {
  if (memory.fits) return "";
  return fmt::format("does NOT fit in memory: rank {} needs {} of {}, {} too much", memory.rank,
      format_bytes(memory.peak), format_bytes(memory.capacity), format_bytes(memory.peak - memory.capacity));
}

}  // namespace stepcast::run
