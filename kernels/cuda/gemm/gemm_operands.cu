#include "kernels/cuda/gemm/gemm_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace stepcast::kernels::gpu {
namespace {

std::size_t rounded_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Upper ends of what each size of a normal number of deviation 2 rounds to (0, 0.5, 1, 1.5, 2, 3, 4, 6), as the share
/// of numbers below it times 2^15: erf(end / sqrt(8)) with the ends 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.
__constant__ const unsigned short kFp4Ends[7] = {3260, 9579, 15336, 20265, 25844, 30143, 32361};

__device__ unsigned int mixed(unsigned long long value) {  // splitmix64 (S. Vigna, prng.di.unimi.it/splitmix64.c)
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<unsigned int>((value ^ (value >> 31)) >> 32);
}

/// 16 random bits to a sign and one of the eight sizes.
__device__ unsigned int fp4_of(unsigned int random) {
  unsigned int code = 0;
  for (int end = 0; end < 7; ++end) code += (random & 0x7fffU) >= kFp4Ends[end] ? 1U : 0U;
  return code | (random >> 15 & 1U) << 3;
}

__global__ void fill_fp4(unsigned char* pairs, std::size_t count, unsigned long long seed) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += stride) {
    const unsigned int random = mixed(seed + at);
    pairs[at] = static_cast<unsigned char>(fp4_of(random & 0xffffU) | fp4_of(random >> 16) << 4);
  }
}

Expected<void> fill_operand(GpuContext& context, NumberFormat format, void* data, std::size_t bytes) {
  switch (format) {
    case NumberFormat::fp32: return context.fill(data, bytes / 4, Fill::fp32);
    case NumberFormat::fp16: return context.fill(data, bytes / 2, Fill::fp16);
    case NumberFormat::bf16: return context.fill(data, bytes / 2, Fill::bf16);
    case NumberFormat::e4m3: return context.fill(data, bytes, Fill::fp8_e4m3);
    case NumberFormat::e2m1: break;
  }
  constexpr unsigned int kThreads = 256;
  const unsigned int blocks = static_cast<unsigned int>(std::max(context.device.sm_count, 1)) * 8;
  fill_fp4<<<blocks, kThreads, 0, context.stream>>>(static_cast<unsigned char*>(data), bytes, context.seed);
  context.seed += bytes;  // the next fill starts behind the numbers of this one
  TRY(checked(cudaGetLastError(), "fill_fp4"));
  return context.wait("fill_fp4");
}

/// Bytes of the pattern of one factor, and how many of it a matrix of `lines` x `k` takes. Sizes are rounded up as the
/// largest of the modes asks for: tiles of 128 lines by 4 factors (cuBLAS documentation, sections 3.1.4 and 3.1.5).
struct FactorArray {
  std::vector<unsigned char> one;
  std::size_t count = 0;
};

FactorArray factors_for(GemmScales scales, double value, std::int64_t lines, std::int64_t k) {
  const auto single = static_cast<float>(value);
  std::vector<unsigned char> fp32(sizeof single);
  std::memcpy(fp32.data(), &single, sizeof single);
  const auto tiles = [&](std::int64_t block, std::int64_t lines_per_factor) {
    const auto across = static_cast<std::size_t>((k + block - 1) / block);
    const auto down = static_cast<std::size_t>((lines + lines_per_factor - 1) / lines_per_factor);
    return rounded_up(down, 128) * rounded_up(across, 4);
  };
  switch (scales) {
    case GemmScales::none: return {};
    case GemmScales::one: return {fp32, 1};
    case GemmScales::per_16: return {{to_e4m3(value)}, tiles(16, 1)};
    // E8M0 is an exponent with bias 127 and nothing else.
    case GemmScales::per_32: return {{static_cast<unsigned char>(127 + std::ilogb(value))}, tiles(32, 1)};
    case GemmScales::per_128: return {fp32, tiles(128, 1)};
    case GemmScales::per_128x128: return {fp32, tiles(128, 128)};
  }
  return {};
}

Expected<DeviceBuffer> uploaded(const GpuContext& context, const FactorArray& factors) {
  if (factors.count == 0) return DeviceBuffer{};
  std::vector<unsigned char> bytes;
  bytes.reserve(factors.one.size() * factors.count);
  for (std::size_t at = 0; at < factors.count; ++at) bytes.insert(bytes.end(), factors.one.begin(), factors.one.end());
  TRY(auto buffer, DeviceBuffer::make(bytes.size()));
  const cudaError_t copied =
      cudaMemcpyAsync(buffer.as<>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, context.stream);
  TRY(checked(copied, "cudaMemcpyAsync"));
  TRY(context.wait("cudaMemcpyAsync"));
  return buffer;
}

}  // namespace

Expected<void> GemmOperands::allocate(GpuContext& context, const GemmProblem& problem, int copies) {
  // What was there before goes first: both together may not fit.
  x_ = {}, w_ = {}, y_ = {};
  const NumberFormat operand = problem.precision->operand_format;
  TRY(x_, BufferSets::make(bytes_for(operand, problem.x_elements()), copies));
  TRY(w_, BufferSets::make(bytes_for(operand, problem.w_elements()), copies));
  TRY(y_, BufferSets::make(bytes_for(problem.result_format(), problem.y_elements()), copies));
  TRY(fill_operand(context, operand, x_.at(0), x_.bytes()));
  TRY(fill_operand(context, operand, w_.at(0), w_.bytes()));
  return fill_operand(context, problem.result_format(), y_.at(0), y_.bytes());
}

GemmSet GemmOperands::set(int copy) const { return {x_.at(copy), w_.at(copy), y_.at(copy)}; }

Expected<GemmFactors> GemmFactors::make(const GpuContext& context, const GemmProblem& problem) {
  const ProductShape& shape = problem.shape;
  GemmFactors factors;
  TRY(factors.x_, uploaded(context, factors_for(problem.precision->x_scales, kX, shape.m, shape.k)));
  TRY(factors.w_, uploaded(context, factors_for(problem.precision->w_scales, kW, shape.n, shape.k)));
  return factors;
}

double factor_of(const GemmProblem& problem) {
  return problem.precision->x_scales == GemmScales::none ? 1 : GemmFactors::kX * GemmFactors::kW;
}

}  // namespace stepcast::kernels::gpu
