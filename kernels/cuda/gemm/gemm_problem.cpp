#include "kernels/cuda/gemm/gemm_problem.h"

#include <cmath>
#include <limits>
#include <string>

#include "kernels/bench/work.h"

namespace stepcast::kernels::gpu {
namespace {

// What cublasLtMatmul's table of supported types allows (NVIDIA cuBLAS documentation, section 3.4.17): all of them
// accumulate in fp32, and alpha and beta are fp32. Training keeps 16-bit results of 16-bit and of narrower operands.
constexpr GemmPrecision rows[] = {
    {Precision::fp32, false, CUDA_R_32F, CUDA_R_32F, NumberFormat::fp32, NumberFormat::fp32, CUBLAS_COMPUTE_32F,
        GemmScales::none, GemmScales::none, 0, ""},
    {Precision::tf32, false, CUDA_R_32F, CUDA_R_32F, NumberFormat::fp32, NumberFormat::fp32,
        CUBLAS_COMPUTE_32F_FAST_TF32, GemmScales::none, GemmScales::none, 80,
        "tf32 needs compute capability 8.0 (A100)"},
    {Precision::fp16, false, CUDA_R_16F, CUDA_R_16F, NumberFormat::fp16, NumberFormat::fp16, CUBLAS_COMPUTE_32F,
        GemmScales::none, GemmScales::none, 0, ""},
    {Precision::bf16, false, CUDA_R_16BF, CUDA_R_16BF, NumberFormat::bf16, NumberFormat::bf16, CUBLAS_COMPUTE_32F,
        GemmScales::none, GemmScales::none, 80, "bf16 needs compute capability 8.0 (A100)"},
    {Precision::fp8, false, CUDA_R_8F_E4M3, CUDA_R_16BF, NumberFormat::e4m3, NumberFormat::bf16, CUBLAS_COMPUTE_32F,
        GemmScales::one, GemmScales::one, 89, "fp8 needs compute capability 8.9 (L40S) or 9.0 (H100)"},
#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1208
    {Precision::mxfp8, false, CUDA_R_8F_E4M3, CUDA_R_16BF, NumberFormat::e4m3, NumberFormat::bf16, CUBLAS_COMPUTE_32F,
        GemmScales::per_32, GemmScales::per_32, 100, "mxfp8 needs compute capability 10.0 (B200)"},
    {Precision::nvfp4, false, CUDA_R_4F_E2M1, CUDA_R_16BF, NumberFormat::e2m1, NumberFormat::bf16, CUBLAS_COMPUTE_32F,
        GemmScales::per_16, GemmScales::per_16, 100, "nvfp4 needs compute capability 10.0 (B200)"},
#endif
#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1209
    {Precision::fp8, true, CUDA_R_8F_E4M3, CUDA_R_16BF, NumberFormat::e4m3, NumberFormat::bf16, CUBLAS_COMPUTE_32F,
        GemmScales::per_128, GemmScales::per_128x128, 90,
        "fp8 with scales per block of 128 needs compute capability 9.0"},
#endif
};

const GemmPrecision* row_of(const GemmQuery& query) {
  for (const GemmPrecision& row : rows)
    if (row.precision == query.precision && row.block_scaled == query.block_scaled) return &row;
  return nullptr;
}

bool whole_size(double size) {
  return size >= 1 && size <= std::numeric_limits<std::int32_t>::max() && size == std::floor(size);
}

Expected<void> sizes_allowed(const GemmQuery& q) {
  for (const double size : {q.m, q.n, q.k, q.batch})
    if (!whole_size(size))
      return fail(work_name(q), "m, n, k and batch are whole numbers from 1 to 2147483647, not " + std::to_string(size),
          "sizes of a product");
  return {};
}

Expected<void> gpu_allows(const GpuContext& context, const GemmPrecision& row, const std::string& where) {
  const DeviceInfo& device = context.device;
  const int capability = 10 * device.capability_major + device.capability_minor;
  const std::string has =
      device.name + " has " + std::to_string(device.capability_major) + "." + std::to_string(device.capability_minor);
  if (capability < row.capability) return fail(where, row.needs, has);
  // Scales of 128 are Hopper's: later chips have the finer blocks of mxfp8 (cuBLAS documentation, section 3.1.5).
  if (row.block_scaled && device.capability_major != 9)
    return fail(where, row.needs, has + "; chips from 10.0 on compute mxfp8 instead");
  return {};
}

Expected<void> layout_allowed(
    const GpuContext& context, const GemmPrecision& row, const GemmQuery& query, const std::string& where) {
  const bool narrow = bits_of(row.operand_format) < 16;
  const bool everywhere = !narrow || (context.device.capability_major == 10 && row.precision != Precision::nvfp4);
  if (query.layout != GemmLayout::tn && !everywhere)
    return fail(where, "cuBLASLt computes this precision only as tn on this GPU",
        "training keeps a transposed copy and runs its gradients as tn too: ask for tn");
  // 16 bytes are what the narrow kernels load at once (cuBLAS documentation, section 3.4.17); rows of y are 16-bit.
  const double step = row.operand_format == NumberFormat::e2m1 ? 32 : 16;
  if (narrow && (std::fmod(query.n, 16) != 0 || std::fmod(query.k, step) != 0))
    return fail(where, "n and k must be multiples of 16 in fp8, and k of 32 in fp4", "pad them, as training does");
  const bool blocks = row.x_scales != GemmScales::none && row.x_scales != GemmScales::one;
  if (blocks && query.batch > 1) return fail(where, "scales per block are timed without batches", "batch 1");
  return {};
}

}  // namespace

Expected<GemmProblem> gemm_problem(const GpuContext& context, const GemmQuery& query) {
  TRY(sizes_allowed(query));
  const std::string where = work_name(query);
  if (query.casts_x)
    return fail(
        where, "the cast of x is a call of its own here", "time the product without it, and 'quantize' by itself");
  const GemmPrecision* row = row_of(query);
  if (row == nullptr)
    return fail(where,
        "this build's cuBLASLt " + std::to_string(CUBLAS_VER_MAJOR) + "." + std::to_string(CUBLAS_VER_MINOR) +
            " has no such product",
        "scales per block of 128 exist for fp8, from CUDA 12.9 on; mxfp8 and nvfp4 from 12.8 on");
  TRY(gpu_allows(context, *row, where));
  TRY(layout_allowed(context, *row, query, where));
  const auto whole = [](double size) { return static_cast<std::int64_t>(size); };
  return GemmProblem{query, {whole(query.m), whole(query.n), whole(query.k), whole(query.batch), query.layout}, row};
}

}  // namespace stepcast::kernels::gpu
