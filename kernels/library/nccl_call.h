// One collective as calls of NCCL, and what every element of its result is when small exact numbers go through it.
// Plain host code: the GPU side compares by the same formulas.
#pragma once

#include <cstdint>

#include "kernels/library/nccl_library.h"
#include "model/profile/query.h"

namespace stepcast::kernels {

/// Elements travel as bf16, as gradients and activations do.
inline constexpr NcclType collective_type = NcclType::bfloat16;
inline constexpr std::int64_t collective_element = 2;  ///< bytes

/// A call of `elements` elements of the whole buffer (what CollectiveQuery::bytes counts) over `ranks` ranks.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t elements = 0;  ///< a whole multiple of the ranks
  int ranks = 1, rank = 0;    ///< rank: of the one who calls; roots are rank 0

  [[nodiscard]] std::int64_t share() const { return elements / ranks; }
  [[nodiscard]] std::int64_t sent() const { return kind == CollectiveKind::all_gather ? share() : elements; }
  [[nodiscard]] std::int64_t received() const { return kind == CollectiveKind::reduce_scatter ? share() : elements; }
  [[nodiscard]] bool sums() const {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::reduce;
  }
  /// Whether this rank holds a result.
  [[nodiscard]] bool has_result() const { return kind != CollectiveKind::reduce || rank == 0; }
};

/// Enqueues it and does not wait. all_to_all is a group of sends and receives; send_recv goes round the ring.
Expected<void> enqueue(const NcclLibrary& nccl, const CollectiveCall& call, const void* send, void* receive,
    NcclCommunicator communicator, NcclStream stream);

#ifdef __CUDACC__
#define STEPCAST_BOTH_SIDES __host__ __device__
#else
#define STEPCAST_BOTH_SIDES
#endif

/// What rank `source` sends at `index`. Sums need numbers whose partial sums in any order are exact in bf16, which
/// holds integers up to 256: 0 to 4 from at most 64 ranks. Copies take integers up to 125, different from rank to rank.
STEPCAST_BOTH_SIDES inline int exact_sent(bool sums, int ranks, std::int64_t source, std::int64_t index) {
  if (!sums) return static_cast<int>((index * 7 + source * 13) % 251) - 125;
  const int every = (ranks + 63) / 64;
  return source % every == 0 ? static_cast<int>((index + source * source) % 5) : 0;
}

/// What must come out at `index` of this rank's result.
STEPCAST_BOTH_SIDES inline int exact_received(
    CollectiveKind kind, std::int64_t share, int ranks, int rank, std::int64_t index) {
  const bool sums =
      kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::reduce;
  if (sums) {
    const std::int64_t at = kind == CollectiveKind::reduce_scatter ? rank * share + index : index;
    int sum = 0;
    for (int source = 0; source < ranks; ++source) sum += exact_sent(true, ranks, source, at);
    return sum;
  }
  switch (kind) {
    case CollectiveKind::all_gather: return exact_sent(false, ranks, index / share, index % share);
    case CollectiveKind::all_to_all: return exact_sent(false, ranks, index / share, rank * share + index % share);
    case CollectiveKind::send_recv: return exact_sent(false, ranks, (rank + ranks - 1) % ranks, index);
    default: return exact_sent(false, ranks, 0, index);
  }
}

}  // namespace stepcast::kernels
