// GPU side only. A product that this GPU and this build can compute: sizes as whole numbers, and how its precision is
// written in cuBLASLt's words. A precision is a row in a table.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "kernels/cuda/gpu_context.h"
#include "kernels/reference/gemm_reference.h"

namespace stepcast::kernels::gpu {

/// What belongs to operands beside their numbers: factors, one for all of it or one for each block.
enum class GemmScales : std::uint8_t { none, one, per_16, per_32, per_128, per_128x128 };

struct GemmPrecision {
  Precision precision;
  bool block_scaled;
  cudaDataType_t operand, result;  ///< nt stores fp32 whatever `result` says
  NumberFormat operand_format, result_format;
  cublasComputeType_t compute;
  GemmScales x_scales, w_scales;
  int capability;     ///< least, as 10 * major + minor
  const char* needs;  ///< what the error says where the GPU is older
};

struct GemmProblem {
  GemmQuery query;
  ProductShape shape;
  const GemmPrecision* precision = nullptr;

  [[nodiscard]] bool accumulates() const { return shape.layout == GemmLayout::nt; }
  [[nodiscard]] cudaDataType_t result_type() const { return accumulates() ? CUDA_R_32F : precision->result; }
  [[nodiscard]] NumberFormat result_format() const {
    return accumulates() ? NumberFormat::fp32 : precision->result_format;
  }
  [[nodiscard]] std::int64_t x_elements() const { return shape.batch * shape.m * shape.k; }
  [[nodiscard]] std::int64_t w_elements() const { return shape.batch * shape.n * shape.k; }
  [[nodiscard]] std::int64_t y_elements() const { return shape.batch * shape.m * shape.n; }
};

/// Fails on sizes that are no whole numbers from 1 to 2^31 - 1, and on what this GPU, this build or cuBLASLt cannot do.
Expected<GemmProblem> gemm_problem(const GpuContext& context, const GemmQuery& query);

/// Bytes that so many elements take; an odd number of fp4 numbers fills its last byte.
inline std::size_t bytes_for(NumberFormat format, std::int64_t elements) {
  return static_cast<std::size_t>((elements * bits_of(format) + 7) / 8);
}

}  // namespace stepcast::kernels::gpu
