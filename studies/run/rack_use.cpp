#include "studies/run/rack_use.h"

#include <bit>

#include <fmt/format.h>

namespace stepcast::run {

std::string take_segments(Machine& machine, std::int64_t gpus) {
  Level& rack = machine.levels.front();
  const std::int64_t all = rack.gpus, used = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(all)));
  constexpr std::int64_t least_rack = 16;  // nodes of 6 or 12 GPUs have jobs that fill them
  if (all <= least_rack || used == all || gpus <= all || gpus % all == 0 || gpus % used != 0) return {};
  rack.gpus = used;
  return fmt::format("{} of the {} GPUs of each {} in use", used, all, rack.name);
}

}  // namespace stepcast::run
