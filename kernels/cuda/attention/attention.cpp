// Our fused attention as an operation: which problems it takes, its buffers and its launches.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention_check.h"
#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/cuda/operation.h"
#include "kernels/bench/work.h"

namespace stepcast::kernels::gpu {
namespace {

/// A set of tensors, one buffer each. Those of the backward pass are empty where it does not run.
struct AttentionBuffers {
  DeviceBuffer queries, keys, values, result, lse, result_gradient, query_gradient, key_gradient, value_gradient;

  [[nodiscard]] AttentionTensors tensors() const {
    const auto half = [](const DeviceBuffer& buffer) { return buffer.as<std::uint16_t>(); };
    return {half(queries), half(keys), half(values), half(result_gradient), half(result), half(query_gradient),
        half(key_gradient), half(value_gradient), lse.as<float>()};
  }
};

class AttentionOperation : public Operation {
 public:
  AttentionOperation(GpuContext& context, const AttentionQuery& query, const AttentionShape& shape,
      AttentionKernel forward, AttentionBackwardKernels backward)
      : context_(context), query_(query), shape_(shape), forward_(forward), backward_(backward) {}

  /// Forward: queries, keys, values and results. Backward reads these and the gradient of the result, and writes the
  /// gradients of the three: everything twice. The logarithms of sums and the workspace, which all calls share, are
  /// left out.
  [[nodiscard]] Bytes touched() const override { return Bytes((with_gradients() ? 2 : 1) * bytes_of(query_).value()); }
  [[nodiscard]] std::string kernel() const override {
    const auto tile = [](const char* name, int queries, int keys) {
      return std::string(name) + " " + std::to_string(queries) + "x" + std::to_string(keys);
    };
    const std::string forward = tile("attention_forward", forward_.rows, forward_.step);
    const std::string backward = tile("attention_backward", backward_.gradients.step, backward_.gradients.rows);
    if (query_.pass == AttentionPass::forward) return forward;
    return query_.pass == AttentionPass::backward ? backward : forward + ", " + backward;
  }

  Expected<void> allocate(int copies) override {
    sets_.clear();
    workspace_ = {};
    if (with_gradients()) {
      TRY(workspace_, DeviceBuffer::make(attention_workspace(backward_, shape_).end));
    }
    for (int i = 0; i < copies; ++i) {
      AttentionBuffers set;
      TRY(fill(set));
      sets_.push_back(std::move(set));
      // What a backward pass starts from. Beside that it loads the kernel before anything is captured.
      TRY(launch_attention_forward(forward_, shape_, sets_.back().tensors(), context_.stream));
    }
    return context_.wait("attention_forward_kernel");
  }

  Expected<void> launch(int copy, cudaStream_t stream) override {
    const AttentionTensors tensors = sets_[static_cast<std::size_t>(copy)].tensors();
    if (query_.pass != AttentionPass::backward) TRY(launch_attention_forward(forward_, shape_, tensors, stream));
    if (!with_gradients()) return {};
    return launch_attention_backward(backward_, shape_, tensors, workspace_, stream);
  }

  Expected<Check> check() override {
    TRY(launch(0, context_.stream));
    return check_attention(context_, shape_, bf16(), sets_.front().tensors(), with_gradients());
  }

 private:
  [[nodiscard]] bool with_gradients() const { return query_.pass != AttentionPass::forward; }
  [[nodiscard]] bool bf16() const { return query_.precision == Precision::bf16; }

  Expected<void> fill(AttentionBuffers& set) {
    const auto rows = static_cast<std::size_t>(shape_.batch * shape_.positions);
    const std::size_t of_queries = rows * static_cast<std::size_t>(shape_.heads * shape_.head_dim);
    const std::size_t of_keys = rows * static_cast<std::size_t>(shape_.kv_heads * shape_.head_dim);
    const Fill type = bf16() ? Fill::bf16 : Fill::fp16;
    TRY(set.queries, context_.filled(of_queries, type));
    TRY(set.keys, context_.filled(of_keys, type));
    TRY(set.values, context_.filled(of_keys, type));
    TRY(set.result, DeviceBuffer::make(of_queries * 2));
    TRY(set.lse, DeviceBuffer::make(rows * static_cast<std::size_t>(shape_.heads) * sizeof(float)));
    if (!with_gradients()) return {};
    TRY(set.result_gradient, context_.filled(of_queries, type));
    TRY(set.query_gradient, DeviceBuffer::make(of_queries * 2));
    TRY(set.key_gradient, DeviceBuffer::make(of_keys * 2));
    TRY(set.value_gradient, DeviceBuffer::make(of_keys * 2));
    return {};
  }

  GpuContext& context_;
  AttentionQuery query_;
  AttentionShape shape_;
  AttentionKernel forward_;
  AttentionBackwardKernels backward_;
  std::vector<AttentionBuffers> sets_;
  DeviceBuffer workspace_;
};

bool is_count(double number) { return number >= 1 && number <= 1e9 && number == std::floor(number); }

/// What no GPU makes possible here.
Expected<AttentionShape> shape_of(const AttentionQuery& query) {
  const std::string where = work_name(query);
  for (double number : {query.batch, query.queries, query.keys, query.heads, query.kv_heads, query.head_dim})
    if (!is_count(number))
      return fail(where, "a size of " + std::to_string(number), "sizes are whole numbers from 1 to 1e9");
  if (query.pass == AttentionPass::decode)
    return fail(where, "our attention has no kernel for decoding", "passes: forward, backward, forward_and_backward");
  if (query.precision != Precision::bf16 && query.precision != Precision::fp16)
    return fail(
        where, std::string("our attention has no kernel in ") + to_text(query.precision), "precisions: bf16, fp16");
  if (query.head_dim != 64 && query.head_dim != 128)
    return fail(where, "our attention has no kernel for heads of " + std::to_string(static_cast<int>(query.head_dim)),
        "head_dim: 64, 128");
  if (query.queries != query.keys)
    return fail(where,
        "our attention wants as many queries as keys, not " + std::to_string(static_cast<std::int64_t>(query.queries)) +
            " and " + std::to_string(static_cast<std::int64_t>(query.keys)),
        "equal counts");
  if (std::fmod(query.heads, query.kv_heads) != 0)
    return fail(where, "the heads of keys do not divide those of queries", "kv_heads: a divisor of heads");
  // A launch has at most 65535 blocks in y and z, and rows are counted in 32 bits.
  if (query.batch > 65535 || query.heads > 65535 ||
      query.batch * (query.queries + 128) * query.heads > std::numeric_limits<int>::max())
    return fail(where, "too many rows for one call", "batch and heads up to 65535, batch x queries x heads up to 2e9");
  return AttentionShape{static_cast<std::int64_t>(query.batch), static_cast<std::int64_t>(query.queries),
      static_cast<std::int64_t>(query.heads), static_cast<std::int64_t>(query.kv_heads),
      static_cast<std::int64_t>(query.head_dim), query.causal};
}

Expected<int> shared_bytes_of(const GpuContext& context) {
  int bytes = 0;
  TRY(checked(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.index),
      "cudaDeviceGetAttribute"));
  return bytes;
}

}  // namespace

MadeOperation make_attention(GpuContext& context, const AttentionQuery& query) {
  TRY(const auto shape, shape_of(query));
  const bool bf16 = query.precision == Precision::bf16;
  if (!context.at_least(7, 5) || (bf16 && !context.at_least(8, 0)))
    return fail(work_name(query), context.device.name + " has no tensor cores for " + to_text(query.precision),
        "bf16 needs compute capability 8.0, fp16 7.5");
  TRY(const auto shared, shared_bytes_of(context));
  const AttentionKernel forward = attention_forward_kernel_for(bf16, static_cast<int>(shape.head_dim));
  const AttentionBackwardKernels backward =
      attention_backward_kernels_for(bf16, static_cast<int>(shape.head_dim), shared);
  if (backward.gradients.function == nullptr || forward.shared_bytes > shared)
    return fail(work_name(query),
        "a block of " + context.device.name + " has " + std::to_string(shared) + " bytes of shared memory",
        "our attention needs 64 KiB");
  TRY(const bool compiled, bf16 ? compiled_for_bf16(forward) : Expected<bool>(true));
  if (!compiled)
    return fail(work_name(query), "the program was compiled for older GPUs, without bf16",
        "compile with CMAKE_CUDA_ARCHITECTURES of at least 80");
  for (const AttentionKernel& kernel : {forward, backward.gradients}) TRY(admit(kernel));
  return std::make_unique<AttentionOperation>(context, query, shape, forward, backward);
}

}  // namespace stepcast::kernels::gpu
