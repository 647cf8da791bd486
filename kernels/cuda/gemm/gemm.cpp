// Matrix products by cuBLASLt, with what training gets: the heuristic's first algorithm and the recommended workspace.
// How m, n and k map to the stored matrices: kernels/reference/gemm_reference.h; to cuBLASLt's calls: gemm_call.cpp.
#include <utility>

#include "kernels/cuda/gemm/gemm_call.h"
#include "kernels/cuda/gemm/gemm_check.h"
#include "kernels/cuda/gemm/gemm_operands.h"
#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {
namespace {

class GemmOperation : public Operation {
 public:
  GemmOperation(GpuContext& context, GemmProblem problem, GemmFactors factors, GemmCall call)
      : context_(context), problem_(std::move(problem)), factors_(std::move(factors)), call_(std::move(call)) {}

  /// x, w and y once. A weight gradient's y is read and written, 8 bytes per element moved for 4 touched.
  [[nodiscard]] Bytes touched() const override {
    const NumberFormat operand = problem_.precision->operand_format;
    return Bytes(
        static_cast<double>(bytes_for(operand, problem_.x_elements()) + bytes_for(operand, problem_.w_elements()) +
                            bytes_for(problem_.result_format(), problem_.y_elements())));
  }
  [[nodiscard]] std::string kernel() const override { return call_.algorithm(); }

  Expected<void> allocate(int copies) override {
    TRY(workspace_, DeviceBuffer::make(call_.workspace_bytes()));
    return operands_.allocate(context_, problem_, copies);
  }
  // cublasLtMatmul only launches kernels: with a workspace of the caller's it may be captured (cuBLAS documentation,
  // section 2.1.12). check() comes first and has every kernel loaded by then.
  Expected<void> launch(int copy, cudaStream_t stream) override {
    return call_.launch(operands_.set(copy), workspace_.as<>(), stream);
  }
  Expected<Check> check() override {
    return check_gemm(context_, problem_, operands_.set(0), [this] { return launch(0, context_.stream); });
  }

 private:
  GpuContext& context_;
  GemmProblem problem_;
  GemmFactors factors_;
  GemmCall call_;
  GemmOperands operands_;
  DeviceBuffer workspace_;
};

}  // namespace

MadeOperation make_gemm(GpuContext& context, const GemmQuery& query) {
  TRY(auto problem, gemm_problem(context, query));
  TRY(const auto library, cublas_library());
  TRY(auto factors, GemmFactors::make(context, problem));
  TRY(auto call, GemmCall::make(context, *library, problem, factors));
  return std::make_unique<GemmOperation>(context, std::move(problem), std::move(factors), std::move(call));
}

}  // namespace stepcast::kernels::gpu
