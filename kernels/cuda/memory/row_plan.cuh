// GPU side only, but host code: how many threads a row gets, and where they keep it.
#pragma once

#include "kernels/cuda/memory/row.cuh"

namespace stepcast::kernels::gpu {

struct RowPlan {
  LaunchShape shape;
  int held = 0;            ///< vectors per thread in registers; 0: a LongRow
  bool one_warp = false;   ///< a warp for each row, several rows in a block
  int shared_vectors = 0;  ///< of each row that a LongRow kernel keeps
};

/// Rows of up to 4 vectors per lane go to warps, up to 4 vectors per thread to blocks of up to `most_threads`, longer
/// ones to shared memory of `shared_limit` bytes (what a block may have), divided between `rows_kept`. A grid of all
/// rows: the GPU starts the next block when one ends.
template <typename T>
RowPlan row_plan(
    std::int64_t rows, int columns, std::size_t shared_limit, int rows_kept = 1, unsigned most_threads = 1024) {
  constexpr unsigned kRowsOfWarps = 8, kHeld = 4, kLongThreads = 1024;
  const int partial = columns % kWidth<T> != 0 ? 1 : 0;  // such rows may touch one vector more
  const unsigned vectors = static_cast<unsigned>((columns + kWidth<T> - 1) / kWidth<T> + partial);
  RowPlan plan;
  plan.shape.shared_bytes = kScratchBytes;
  plan.shape.blocks = static_cast<unsigned>(rows);
  if (vectors <= kWarp * kHeld) {
    plan.one_warp = true;
    plan.held = vectors <= kWarp ? 1 : vectors <= 2 * kWarp ? 2 : 4;
    plan.shape.rows_at_once = kRowsOfWarps;
    plan.shape.blocks = static_cast<unsigned>((rows + kRowsOfWarps - 1) / kRowsOfWarps);
  } else if (vectors <= most_threads * kHeld) {
    plan.held = kHeld;
    plan.shape.threads = (vectors + kHeld * kWarp - 1) / (kHeld * kWarp) * kWarp;
  } else {
    plan.shape.threads = kLongThreads < most_threads ? kLongThreads : most_threads;
    const std::size_t fitting = (shared_limit - kScratchBytes) / 16 / static_cast<unsigned>(rows_kept);
    plan.shared_vectors = static_cast<int>(fitting < vectors ? fitting : vectors);
    plan.shape.shared_bytes += static_cast<std::size_t>(plan.shared_vectors) * 16 * static_cast<unsigned>(rows_kept);
  }
  return plan;
}

/// use.operator()<Storage, OneWarp>() for the plan's.
template <typename T, typename Use> auto with_storage(const RowPlan& plan, Use use) {
  if (plan.held == 0) return use.template operator()<LongRow<T>, false>();
  if (!plan.one_warp) return use.template operator()<HeldRow<T, 4>, false>();
  if (plan.held == 1) return use.template operator()<HeldRow<T, 1>, true>();
  if (plan.held == 2) return use.template operator()<HeldRow<T, 2>, true>();
  return use.template operator()<HeldRow<T, 4>, true>();
}

}  // namespace stepcast::kernels::gpu
