// GPU side only. What a call of attention made against float64 on the host.
#pragma once

#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels::gpu {

/// Compares results and lse of sampled queries and, with gradients, the gradients of these queries and of sampled keys
/// and values: of one batch entry and one head of keys with the queries' heads that share it, drawn by the context's
/// seed. Everything on the context's stream is waited for first.
Expected<Check> check_attention(
    GpuContext& context, const AttentionShape& shape, bool bf16, const AttentionTensors& tensors, bool with_gradients);

}  // namespace stepcast::kernels::gpu
