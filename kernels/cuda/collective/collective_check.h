// GPU side only. Small exact numbers into a collective, and every element that comes out compared on the GPU.
#pragma once

#include "kernels/cuda/gpu_context.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/library/nccl_call.h"

namespace stepcast::kernels::gpu {

/// The numbers of exact_sent() as bf16, for the whole of what the call sends. Enqueued, not waited for.
Expected<void> fill_exact(const CollectiveCall& call, void* send, cudaStream_t stream);

/// Compares what was received with exact_received(). Waits. `error` is the largest difference, infinite for what is no
/// number; nothing is allowed.
Expected<Check> compare_exact(const CollectiveCall& call, const void* received, cudaStream_t stream);

}  // namespace stepcast::kernels::gpu
