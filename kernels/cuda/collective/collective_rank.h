// GPU side only. One GPU's part in collectives: its communicator, its buffers, and what it enqueues, waits for and
// times. All calls but abort() come from the one thread that this GPU has to itself.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/captured_graph.h"
#include "kernels/cuda/collective/collective_check.h"
#include "kernels/cuda/gpu_context.h"
#include "kernels/cuda/operation.h"
#include "kernels/library/nccl_call.h"

namespace stepcast::kernels::gpu {

/// What the error of a rank says that stopped because another one failed.
inline constexpr const char* given_up = "given up";

class CollectiveRank {
 public:
  /// `abandon` is set when another rank of this process failed: nobody waits for the call that it left.
  CollectiveRank(
      const NcclLibrary& nccl, int index, const DeviceInfo& device, std::shared_ptr<const std::atomic<bool>> abandon)
      : nccl_(nccl), abandon_(std::move(abandon)) {
    context_.index = index;
    context_.device = device;
    context_.seed = static_cast<std::uint64_t>(index) + 1;
  }
  CollectiveRank(const CollectiveRank&) = delete;
  CollectiveRank& operator=(const CollectiveRank&) = delete;
  /// Streams, buffers. Then and always the calling thread's current device is this one.
  Expected<void> start();
  /// The same backwards; the communicator is aborted, not waited for.
  void finish();
  [[nodiscard]] Expected<Bytes> free_memory() const;

  /// Member `rank` of a group of `ranks`. Returns when all are there.
  Expected<void> open(const NcclUniqueId& id, int ranks, int rank);
  Expected<void> close();
  /// From any thread: ends what hangs in the communicator, which is closed then.
  void abort();

  /// Room for calls of this buffer.
  Expected<void> reserve(Bytes buffer);
  /// What this rank received of one call with exact numbers. Here and below room was reserved.
  Expected<Check> check(CollectiveKind kind, Bytes buffer);
  /// Seconds per call of each batch on this GPU.
  Expected<std::vector<Seconds>> time(CollectiveKind kind, Bytes buffer, int calls, int batches);
  /// Waits for everything on this GPU; what a kernel broke comes out here.
  Expected<void> settle();

  // Interference, in steps: counts must be the same on all ranks, so that those who made a step agree before the next.
  Expected<void> begin_beside(const GemmQuery& gemm, CollectiveKind kind, Bytes buffer);
  Expected<Seconds> products_alone(int calls);
  Expected<Seconds> collectives_alone(int calls);
  Expected<Seconds> products_beside(int calls, int neighbours);
  Expected<Seconds> collectives_beside(int calls, int neighbours);
  void end_beside();

 private:
  [[nodiscard]] CollectiveCall call_of(CollectiveKind kind, Bytes buffer) const;
  Expected<void> enqueue_call(const CollectiveCall& call, cudaStream_t stream);
  /// A call after which all ranks go on at the same time.
  Expected<void> line_up(cudaStream_t stream);
  /// Until the stream has passed the event. A failed or hanging communicator is aborted.
  Expected<void> wait_for(const StreamEvent& event, const char* what);
  using Enqueue = std::function<Expected<void>()>;
  /// What is enqueued on the stream between two marks, per call, after all ranks lined up.
  Expected<Seconds> timed(cudaStream_t stream, int calls, const Enqueue& once);
  /// A row of calls on one of the two streams.
  struct Row {
    cudaStream_t stream;
    int calls;
    Enqueue once;
  };
  /// `row` per call while `neighbour` runs, which begins before and must end after it. One of them is of collectives
  /// and has the side stream.
  Expected<Seconds> timed_beside(const Row& row, const Row& neighbour);
  [[nodiscard]] Row products(int calls);
  [[nodiscard]] Row collectives(int calls);

  const NcclLibrary& nccl_;
  std::shared_ptr<const std::atomic<bool>> abandon_;
  GpuContext context_;
  StreamEvent begin_, end_, neighbour_runs_, neighbour_ends_;
  DeviceBuffer send_, receive_, small_;
  std::atomic<NcclCommunicator> communicator_{nullptr};
  int ranks_ = 1, rank_ = 0;
  std::unique_ptr<Operation> product_;  ///< while interference is measured
  CollectiveCall beside_;
};

}  // namespace stepcast::kernels::gpu
