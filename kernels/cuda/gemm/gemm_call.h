// GPU side only. One product as cuBLASLt knows it: descriptors, and the algorithm that its heuristic picks.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "kernels/cuda/gemm/cublas_library.h"
#include "kernels/cuda/gemm/gemm_operands.h"
#include "kernels/cuda/gemm/gemm_problem.h"

namespace stepcast::kernels::gpu {

class GemmCall {
 public:
  /// Fails where cuBLASLt has no kernel for the problem. The library and the factors outlive the call.
  static Expected<GemmCall> make(
      const GpuContext& context, const CublasLibrary& library, const GemmProblem& problem, const GemmFactors& factors);
  /// y = factors * x w, or y += that for weight gradients. Enqueued only.
  Expected<void> launch(const GemmSet& set, void* workspace, cudaStream_t stream) const;
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// "cublasLt algorithm 66 tile 30 stages 36 cluster 3, 2 ways over k": enumerators of cublasLt.h.
  [[nodiscard]] std::string algorithm() const;

 private:
  template <typename Pointer>
  using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, cublasStatus_t (*)(Pointer)>;
  using Matrix = Owned<cublasLtMatrixLayout_t>;

  GemmCall(const CublasLibrary& library, cublasLtHandle_t handle, bool accumulates);
  Expected<void> describe(const GemmProblem& problem, const GemmFactors& factors);
  Expected<void> describe_factors(const GemmProblem& problem, const GemmFactors& factors);
  Expected<void> choose_algorithm(const GpuContext& context, const GemmProblem& problem);
  template <typename Value> Expected<void> set(cublasLtMatmulDescAttributes_t attribute, Value value);
  [[nodiscard]] Expected<Matrix> matrix(
      cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) const;
  [[nodiscard]] long long config(cublasLtMatmulAlgoConfigAttributes_t attribute) const;

  const CublasLibrary* library_;
  cublasLtHandle_t handle_;
  Owned<cublasLtMatmulDesc_t> product_;
  Matrix w_, x_, y_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
  float beta_;
};

}  // namespace stepcast::kernels::gpu
