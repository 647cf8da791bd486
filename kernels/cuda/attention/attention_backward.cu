#include "kernels/cuda/attention/attention_backward.cuh"

#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/cuda/attention/attention_sizes.cuh"

namespace stepcast::kernels::gpu {
namespace {

template <HalfType type, typename Tile> AttentionBackwardKernels backward_kernels() {
  constexpr int head_dim = Tile::head_dim, threads = Tile::threads;
  const auto pointer = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };
  return {.gradients = {pointer(&attention_backward_kernel<type, Tile>), Tile::keys, Tile::queries, threads,
              Tile::shared_bytes},
      .statistics = {pointer(&attention_statistics_kernel<type, head_dim>), kStatisticsThreads * 8 / head_dim, 0,
          kStatisticsThreads, 0},
      .convert_queries = {pointer(&attention_convert_kernel<type, head_dim, threads, 2, 4>), Tile::queries, 0, threads,
          0},
      .convert_keys = {pointer(&attention_convert_kernel<type, head_dim, threads, 1, 1>), Tile::keys, 0, threads, 0}};
}

struct BackwardForm {
  bool bf16;
  int head_dim;
  AttentionBackwardKernels kernels;
};

std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::int64_t padded(std::int64_t positions, int rows) { return (positions + rows - 1) / rows * rows; }

}  // namespace

AttentionBackwardKernels attention_backward_kernels_for(bool bf16, int head_dim, int shared_bytes) {
  constexpr HalfType b = HalfType::bf16, f = HalfType::fp16;
  // Fastest first. Of shared memory a block has 163 kB on compute capability 8.0, 227 on 9.0 and 10.0, 99 on 8.6, 8.9
  // and 12.0, 64 on 7.5 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"), where all is
  // fp16.
  static const BackwardForm forms[] = {
      {true, 128, backward_kernels<b, BackwardTile<128, 8, 64, 2>>()},
      {true, 128, backward_kernels<b, BackwardTile<128, 4, 32, 2>>()},
      {true, 64, backward_kernels<b, BackwardTile<64, 8, 64, 2>>()},
      {false, 128, backward_kernels<f, BackwardTile<128, 8, 64, 2>>()},
      {false, 128, backward_kernels<f, BackwardTile<128, 4, 32, 2>>()},
      {false, 128, backward_kernels<f, BackwardTile<128, 4, 32, 1>>()},
      {false, 64, backward_kernels<f, BackwardTile<64, 8, 64, 2>>()},
      {false, 64, backward_kernels<f, BackwardTile<64, 4, 32, 1>>()},
  };
  for (const BackwardForm& form : forms)
    if (form.bf16 == bf16 && form.head_dim == head_dim && form.kernels.gradients.shared_bytes <= shared_bytes)
      return form.kernels;
  return {};
}

AttentionWorkspace attention_workspace(const AttentionBackwardKernels& kernels, const AttentionShape& shape) {
  const auto queries =
      static_cast<std::size_t>(shape.batch * shape.heads * padded(shape.positions, kernels.gradients.step));
  const auto keys =
      static_cast<std::size_t>(shape.batch * shape.kv_heads * padded(shape.positions, kernels.gradients.rows));
  const auto row_bytes = static_cast<std::size_t>(shape.head_dim) * sizeof(float);
  AttentionWorkspace at;
  at.query_sums = rounded(queries * sizeof(float2));
  at.key_sums = at.query_sums + rounded(queries * row_bytes);
  at.value_sums = at.key_sums + (shape.group() > 1 ? rounded(keys * row_bytes) : 0);
  at.end = at.value_sums + (shape.group() > 1 ? rounded(keys * row_bytes) : 0);
  return at;
}

Expected<void> launch_attention_backward(const AttentionBackwardKernels& kernels, const AttentionShape& shape,
    const AttentionTensors& tensors, const DeviceBuffer& workspace, cudaStream_t stream) {
  const AttentionWorkspace at = attention_workspace(kernels, shape);
  const AttentionSizes sizes = attention_sizes(shape);
  const std::int64_t padded_queries = padded(shape.positions, kernels.gradients.step);
  auto* statistics = workspace.as<float2>(at.statistics);
  auto *query_sums = workspace.as<float>(at.query_sums), *key_sums = workspace.as<float>(at.key_sums),
       *value_sums = workspace.as<float>(at.value_sums);
  AttentionStatisticsArguments before{
      tensors.result, tensors.result_gradient, tensors.lse, statistics, static_cast<int>(padded_queries), sizes};
  AttentionBackwardArguments main{tensors.queries, tensors.keys, tensors.values, tensors.result_gradient, statistics,
      query_sums, key_sums, value_sums, tensors.key_gradient, tensors.value_gradient, sizes};
  AttentionConvertArguments queries{query_sums, tensors.query_gradient, sizes.heads, sizes.scale, sizes};
  AttentionConvertArguments keys{key_sums, tensors.key_gradient, sizes.heads / sizes.group, sizes.scale, sizes};
  AttentionConvertArguments values{value_sums, tensors.value_gradient, sizes.heads / sizes.group, 1, sizes};
  TRY(checked(cudaMemsetAsync(query_sums, 0, at.end - at.query_sums, stream), "cudaMemsetAsync"));
  TRY(launch_kernel(kernels.statistics, shape, shape.heads, padded_queries, &before, stream));
  TRY(launch_kernel(kernels.gradients, shape, shape.heads, shape.positions, &main, stream));
  TRY(launch_kernel(kernels.convert_queries, shape, shape.heads, shape.positions, &queries, stream));
  if (shape.group() == 1) return {};
  TRY(launch_kernel(kernels.convert_keys, shape, shape.kv_heads, shape.positions, &keys, stream));
  return launch_kernel(kernels.convert_keys, shape, shape.kv_heads, shape.positions, &values, stream);
}

}  // namespace stepcast::kernels::gpu
