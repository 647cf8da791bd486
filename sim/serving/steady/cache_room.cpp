#include "sim/serving/steady/cache_room.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {

double CacheRoom::blocks_of(double positions) const {
  const auto block = static_cast<double>(policy_.block);
  const double shared = std::floor(means_.cached / block);
  // A block is begun at any of its positions, as likely as at any other.
  return std::max(1.0, (positions + block / 2 - 0.5) / block - shared);
}

double CacheRoom::held_blocks() const {
  return blocks_of(policy_.reserves_all ? means_.cached + means_.read + means_.output : means_.context());
}

double CacheRoom::most_running() const {
  const double room = std::floor(static_cast<double>(policy_.own_blocks()) / held_blocks());
  return std::clamp(room, 1.0, static_cast<double>(policy_.most_sequences));
}

double CacheRoom::used_share(double running) const { return used_share(running, held_blocks()); }

double CacheRoom::used_share(double running, double each) const {
  const double used = running * each + static_cast<double>(policy_.shared_blocks);
  return std::min(1.0, used / static_cast<double>(policy_.blocks));
}

bool CacheRoom::may_preempt(double running, bool cohorts) const {
  if (policy_.reserves_all) return false;
  const double last = blocks_of(static_cast<double>(means_.longest));
  const auto blocks = static_cast<double>(policy_.own_blocks());
  if (running * last <= blocks) return false;
  if (cohorts) return true;
  const double mean = blocks_of(means_.context()), spread = means_.output / std::sqrt(12.0),
               lengths = std::sqrt(std::max(0.0, means_.read_square - means_.read * means_.read)),
               deviation = std::hypot(spread, lengths, means_.output_deviation()) / static_cast<double>(policy_.block);
  return running * mean + far_out * std::sqrt(running) * deviation > blocks;
}

bool CacheRoom::never_fits() const {
  return blocks_of(static_cast<double>(means_.longest)) > static_cast<double>(policy_.own_blocks());
}

}  // namespace stepcast::sim
