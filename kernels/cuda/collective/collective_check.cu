#include "kernels/cuda/collective/collective_check.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <bit>

namespace stepcast::kernels::gpu {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1024;

__global__ void write_exact(__nv_bfloat16* send, std::int64_t count, bool sums, int ranks, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    send[i] = __float2bfloat16(static_cast<float>(exact_sent(sums, ranks, rank, i)));
}

/// The largest difference as the bits of a float: for numbers that are not negative they are in the numbers' own order.
__global__ void largest_difference(const __nv_bfloat16* received, std::int64_t count, CollectiveKind kind,
    std::int64_t share, int ranks, int rank, unsigned* largest) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned worst = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const float expected = static_cast<float>(exact_received(kind, share, ranks, rank, i));
    const float difference = fabsf(__bfloat162float(received[i]) - expected);
    const unsigned infinite = 0x7f800000u;
    const unsigned bits = difference <= 3e38f ? __float_as_uint(difference) : infinite;  // NaN compares false
    worst = worst > bits ? worst : bits;
  }
  if (worst != 0) atomicMax(largest, worst);
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, most_blocks));
}

}  // namespace

Expected<void> fill_exact(const CollectiveCall& call, void* send, cudaStream_t stream) {
  write_exact<<<blocks_for(call.sent()), threads, 0, stream>>>(
      static_cast<__nv_bfloat16*>(send), call.sent(), call.sums(), call.ranks, call.rank);
  return checked(cudaGetLastError(), "write_exact");
}

Expected<Check> compare_exact(const CollectiveCall& call, const void* received, cudaStream_t stream) {
  if (!call.has_result()) return Check{};
  TRY(auto largest, DeviceBuffer::make(sizeof(unsigned)));
  unsigned bits = 0;
  TRY(checked(cudaMemsetAsync(largest.as(), 0, sizeof bits, stream), "cudaMemsetAsync"));
  largest_difference<<<blocks_for(call.received()), threads, 0, stream>>>(static_cast<const __nv_bfloat16*>(received),
      call.received(), call.kind, call.share(), call.ranks, call.rank, largest.as<unsigned>());
  TRY(checked(cudaGetLastError(), "largest_difference"));
  TRY(checked(cudaMemcpyAsync(&bits, largest.as(), sizeof bits, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync"));
  TRY(checked(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  return Check{static_cast<double>(std::bit_cast<float>(bits)), 0, call.received()};
}

}  // namespace stepcast::kernels::gpu
