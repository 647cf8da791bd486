// GPU side only. One kind of call: its buffers, one launch, and its check. graph_replay.cu records and times any of
// them; a new kernel is a class here and a row in the table of operation_table.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "kernels/cuda/gpu_context.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels::gpu {

class Operation {
 public:
  virtual ~Operation() = default;
  [[nodiscard]] virtual Bytes touched() const = 0;
  [[nodiscard]] virtual std::string kernel() const { return {}; }
  /// May be called again with another number; the buffers of before are freed.
  virtual Expected<void> allocate(int copies) = 0;
  /// One call on one set, enqueued and not waited for. Capturable into a graph: no allocation, no synchronising.
  virtual Expected<void> launch(int copy, cudaStream_t stream) = 0;
  virtual Expected<Check> check() = 0;
};

using MadeOperation = Expected<std::unique_ptr<Operation>>;

/// Each fails where the GPU or a library cannot do it, saying why. The context outlives the operation.
MadeOperation make_gemm(GpuContext& context, const GemmQuery& query);  // gemm/gemm.cpp, cuBLASLt
// attention/attention.cpp, ours
MadeOperation make_attention(GpuContext& context, const AttentionQuery& query);
// attention/cudnn_attention.cpp
MadeOperation make_cudnn_attention(GpuContext& context, const AttentionQuery& query);
MadeOperation make_memory_op(GpuContext& context, const MemoryQuery& query);   // memory/memory_op.cu, ours
MadeOperation make_transfer(GpuContext& context, const TransferQuery& query);  // collective/transfer.cpp

/// What starting work costs: timed in ways of its own, not as an operation (launch_cost.cu).
Expected<std::unique_ptr<PreparedWork>> make_launch_cost(GpuContext& context, const LaunchQuery& query);

/// By the table: the operation that answers the query with that source's kernel (operation_table.cpp).
MadeOperation make_operation(GpuContext& context, const Query& query, KernelSource source);
/// Any work of one GPU, with what runs beside it.
Expected<std::unique_ptr<PreparedWork>> prepare_work(GpuContext& context, const Work& work);
Expected<std::unique_ptr<PreparedWork>> prepare_sequence(GpuContext& context, const Sequence& sequence);

}  // namespace stepcast::kernels::gpu
