// cuBLAS stores by columns, we by rows: what is a row-major m x n for us is a column-major n x m for it, without a byte
// moved. So it is asked for the transposed product, yT[n,m] = op(w) op(x), with w as its first operand:
//
//   ours  stored        as cuBLAS sees them      asked for
//   tn    w[n,k] x[m,k]  w[k,n] x[k,m]           w transposed, x as it is
//   nn    w[k,n] x[m,k]  w[n,k] x[k,m]           both as they are
//   nt    w[k,n] x[k,m]  w[n,k] x[m,k]           w as it is, x transposed
//
// which are BLAS's TN, NN and NT of the same names. Leading dimensions are the row lengths of our matrices.
#include "kernels/cuda/gemm/gemm_call.h"

#include <array>

#include "kernels/bench/work.h"

namespace stepcast::kernels::gpu {
namespace {

struct StoredAs {
  cublasOperation_t w, x;
};
constexpr StoredAs operations[] = {{CUBLAS_OP_T, CUBLAS_OP_N}, {CUBLAS_OP_N, CUBLAS_OP_N}, {CUBLAS_OP_N, CUBLAS_OP_T}};

/// NVIDIA's recommendation for cublasSetWorkspace (cuBLAS documentation, section 2.4.8), which frameworks follow.
std::size_t recommended_workspace(const DeviceInfo& device) {
  constexpr std::size_t kMiB = 1U << 20;
  if (device.capability_major == 9 || device.capability_major == 10) return 32 * kMiB;
  if (device.capability_major == 12) return 12 * kMiB;
  return 4 * kMiB;
}

#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1208
cublasLtMatmulMatrixScale_t scale_mode(GemmScales scales) {
  switch (scales) {
    case GemmScales::per_16: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    case GemmScales::per_32: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1209
    case GemmScales::per_128: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case GemmScales::per_128x128: return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
#endif
    default: return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  }
}
#endif

}  // namespace

GemmCall::GemmCall(const CublasLibrary& library, cublasLtHandle_t handle, bool accumulates)
    : library_(&library), handle_(handle), product_(nullptr, library.product_destroy),
      w_(nullptr, library.matrix_destroy), x_(nullptr, library.matrix_destroy), y_(nullptr, library.matrix_destroy),
      beta_(accumulates ? 1.0F : 0.0F) {}

Expected<GemmCall> GemmCall::make(
    const GpuContext& context, const CublasLibrary& library, const GemmProblem& problem, const GemmFactors& factors) {
  TRY(auto handle, cublas_handle(context.index));
  GemmCall call(library, handle, problem.accumulates());
  TRY(call.describe(problem, factors));
  TRY(call.choose_algorithm(context, problem));
  return call;
}

template <typename Value> Expected<void> GemmCall::set(cublasLtMatmulDescAttributes_t attribute, Value value) {
  return library_->checked(
      library_->product_set(product_.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

Expected<void> GemmCall::describe(const GemmProblem& problem, const GemmFactors& factors) {
  cublasLtMatmulDesc_t product = nullptr;
  const cublasStatus_t created = library_->product_create(&product, problem.precision->compute, CUDA_R_32F);
  TRY(library_->checked(created, "cublasLtMatmulDescCreate"));
  product_.reset(product);
  const StoredAs stored = operations[static_cast<int>(problem.shape.layout)];
  TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(stored.w)));
  TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(stored.x)));
  TRY(describe_factors(problem, factors));

  const auto [m, n, k, batch, layout] = problem.shape;
  const cudaDataType_t operand = problem.precision->operand;
  TRY(w_, stored.w == CUBLAS_OP_T ? matrix(operand, k, n, batch) : matrix(operand, n, k, batch));
  TRY(x_, stored.x == CUBLAS_OP_T ? matrix(operand, m, k, batch) : matrix(operand, k, m, batch));
  TRY(y_, matrix(problem.result_type(), n, m, batch));
  return {};
}

// Fast accumulation of fp8 stays off, its default: training needs the full fp32 sums (DeepSeek-V3 report, arXiv
// 2412.19437, section 3.3.2; Transformer Engine's recipes turn it off for gradients).
Expected<void> GemmCall::describe_factors(const GemmProblem& problem, const GemmFactors& factors) {
  if (problem.precision->x_scales == GemmScales::none) return {};
#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1208
  const auto w_mode = static_cast<std::int32_t>(scale_mode(problem.precision->w_scales));
  const auto x_mode = static_cast<std::int32_t>(scale_mode(problem.precision->x_scales));
  TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, w_mode));
  TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, x_mode));
#endif
  TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, factors.w()));
  return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, factors.x());
}

Expected<GemmCall::Matrix> GemmCall::matrix(
    cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) const {
  cublasLtMatrixLayout_t made = nullptr;
  const cublasStatus_t created =
      library_->matrix_create(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
  TRY(library_->checked(created, "cublasLtMatrixLayoutCreate"));
  Matrix owned(made, library_->matrix_destroy);
  if (batch == 1) return owned;
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * columns;
  cublasStatus_t good = library_->matrix_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
  if (good == CUBLAS_STATUS_SUCCESS)
    good = library_->matrix_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  TRY(library_->checked(good, "cublasLtMatrixLayoutSetAttribute"));
  return owned;
}

// The heuristic's first choice, as cuBLAS and the frameworks take it: the fastest of a search would be better than what
// training gets.
Expected<void> GemmCall::choose_algorithm(const GpuContext& context, const GemmProblem& problem) {
  cublasLtMatmulPreference_t made = nullptr;
  TRY(library_->checked(library_->preference_create(&made), "cublasLtMatmulPreferenceCreate"));
  const Owned<cublasLtMatmulPreference_t> preference(made, library_->preference_destroy);
  const std::uint64_t workspace = recommended_workspace(context.device);
  const cublasStatus_t set =
      library_->preference_set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  TRY(library_->checked(set, "cublasLtMatmulPreferenceSetAttribute"));

  std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
  int count = 0;
  const cublasStatus_t asked = library_->heuristic(handle_, product_.get(), w_.get(), x_.get(), y_.get(), y_.get(),
      made, static_cast<int>(found.size()), found.data(), &count);
  for (int at = 0; asked == CUBLAS_STATUS_SUCCESS && at < count; ++at) {
    const cublasLtMatmulHeuristicResult_t& one = found[static_cast<std::size_t>(at)];
    if (one.state != CUBLAS_STATUS_SUCCESS) continue;
    algorithm_ = one.algo;
    workspace_bytes_ = one.workspaceSize;
    return {};
  }
  const std::string why =
      asked == CUBLAS_STATUS_SUCCESS ? "there is no algorithm for it" : library_->status_text(asked);
  return fail(work_name(problem.query), "cublasLtMatmulAlgoGetHeuristic: " + why,
      "another layout or size, or a newer cuBLASLt than " + std::to_string(library_->version()));
}

Expected<void> GemmCall::launch(const GemmSet& set, void* workspace, cudaStream_t stream) const {
  const float alpha = 1;
  const cublasStatus_t status = library_->multiply(handle_, product_.get(), &alpha, set.w, w_.get(), set.x, x_.get(),
      &beta_, set.y, y_.get(), set.y, y_.get(), &algorithm_, workspace, workspace_bytes_, stream);
  return library_->checked(status, "cublasLtMatmul");
}

long long GemmCall::config(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
  // Attributes have 2 or 4 bytes; asked with size 0, the library says how many.
  std::size_t bytes = 0, written = 0;
  if (library_->algorithm_get(&algorithm_, attribute, nullptr, 0, &bytes) != CUBLAS_STATUS_SUCCESS) return -1;
  std::uint16_t two = 0;
  std::uint32_t four = 0;
  void* const into = bytes == sizeof two ? static_cast<void*>(&two) : &four;
  if (bytes != sizeof two && bytes != sizeof four) return -1;
  if (library_->algorithm_get(&algorithm_, attribute, into, bytes, &written) != CUBLAS_STATUS_SUCCESS) return -1;
  return bytes == sizeof two ? two : four;
}

std::string GemmCall::algorithm() const {
  struct Named {
    const char* name;
    cublasLtMatmulAlgoConfigAttributes_t attribute;
  };
  constexpr Named parts[] = {{"algorithm", CUBLASLT_ALGO_CONFIG_ID}, {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID},
      {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID}, {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID}};
  std::string text = "cublasLt";
  for (const auto& [name, attribute] : parts) {
    const long long value = config(attribute);
    if (value >= 0) text += std::string(" ") + name + " " + std::to_string(value);
  }
  const long long ways = config(CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  if (ways > 1) text += ", " + std::to_string(ways) + " ways over k";
  return text;
}

}  // namespace stepcast::kernels::gpu
