#include "dataflow/attended_keys.h"

#include <algorithm>
#include <cmath>

namespace stepcast::dataflow {
namespace {

/// Fused kernels take queries and keys in blocks of so many, and all of a block that a window touches
/// (Dao-AILab/flash-attention 0251105, csrc/flash_attn/src/flash_fwd_kernel.h, n_block_min: a query block of kBlockM
/// begins at key (m kBlockM - W) / kBlockN; both are 128 at head sizes up to 64, 64 to 128 beyond).
constexpr double attention_block = 128;

double walked_keys(const KeyReach& reach, double keys) {
  const auto all = static_cast<std::int64_t>(keys);
  const double seen = mean_keys(reach.domain, reach.reach, all);
  switch (reach.domain) {
    case Domain::all:
    case Domain::causal:
    case Domain::chosen: return seen;
    case Domain::tile: return std::min(std::ceil(seen / attention_block) * attention_block, keys);
    default:
      return std::min(
          seen + attention_block, mean_keys(reach.domain == Domain::band ? Domain::all : Domain::causal, 0, all));
  }
}

double seen_keys(const KeyReach& reach, double keys, double queries) {
  const auto all = static_cast<std::int64_t>(keys), before = all - static_cast<std::int64_t>(queries);
  const double mean = mean_keys(reach.domain, reach.reach, all);
  if (reach.domain == Domain::all || reach.domain == Domain::tile || before <= 0) return mean;
  return (keys * mean - static_cast<double>(before) * mean_keys(reach.domain, reach.reach, before)) / queries;
}

/// Of compressed ones.
double seen_beside(const CompressedKeys& beside, double keys, double queries) {
  const auto all = static_cast<std::int64_t>(keys), before = all - static_cast<std::int64_t>(queries);
  const double mean = mean_compressed(beside, all);
  if (beside.ratio == 0 || before <= 0) return mean;
  return (keys * mean - static_cast<double>(before) * mean_compressed(beside, before)) / queries;
}

}  // namespace

AttendedKeys attended_keys(const KeyReach& reach, double keys, double asked) {
  const double queries = std::max(1.0, asked);  // a row of keys may be of several positions
  const double beside = seen_beside(reach.beside, keys, queries);
  const double seen = seen_keys(reach, keys, queries) + beside;
  return {seen, std::max(seen, walked_keys(reach, keys) + beside)};
}

}  // namespace stepcast::dataflow
