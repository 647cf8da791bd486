// Attention by cuDNN's fused engines: what frameworks run where they do not bring kernels of their own. Beside ours it
// tells how much of a difference the kernel makes.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/buffer_sets.h"
#include "kernels/cuda/attention/cudnn_attention_check.h"
#include "kernels/cuda/operation.h"
#include "kernels/bench/work.h"

namespace stepcast::kernels::gpu {

#ifdef STEPCAST_HAS_CUDNN
namespace {

/// What the host gives to the graphs by value.
struct AttentionScalars {
  float scale = 1, minus_infinity = 0, one = 1;
};

class CudnnAttention : public Operation {
 public:
  CudnnAttention(GpuContext& context, const CudnnAttentionShape& shape, AttentionPass pass, AttentionScalars scalars,
      CudnnPlan forward, CudnnPlan backward)
      : context_(context), shape_(shape), pass_(pass), scalars_(scalars), forward_(std::move(forward)),
        backward_(std::move(backward)) {}

  /// Every tensor of a call once: q, k, v, o and the statistics, and do, dq, dk, dv where gradients are made.
  [[nodiscard]] Bytes touched() const override {
    const double tensors = trains() ? 4 : 2;
    return Bytes(tensors * static_cast<double>(query_bytes() + key_bytes()) + static_cast<double>(row_bytes()));
  }
  [[nodiscard]] std::string kernel() const override {
    std::string text = "cudnn";
    if (runs_forward()) text += " forward engine " + std::to_string(forward_.engine());
    if (trains()) text += " backward engine " + std::to_string(backward_.engine());
    return text;
  }

  Expected<void> allocate(int copies) override {
    tensors_.clear();
    for (const std::size_t bytes : sizes()) TRY(add(tensors_, bytes, copies));
    TRY(add_scratch());
    // Every tensor but the statistics, which the forward pass writes.
    const Fill fill = shape_.type == CUDNN_DATA_HALF ? Fill::fp16 : Fill::bf16;
    for (std::size_t at = 0; at < tensors_.size(); ++at) {
      if (at != kStatistics) TRY(context_.fill(tensors_[at].at(0), tensors_[at].bytes() / 2, fill));
    }
    // The backward pass alone needs what a forward pass left behind.
    for (int copy = 0; trains() && copy < copies; ++copy) TRY(run_forward(copy, context_.stream));
    return context_.wait("cudnnBackendExecute");
  }

  // cuDNN's fused attentions may be captured (cuDNN documentation, "CUDA Graphs"): they only launch kernels.
  Expected<void> launch(int copy, cudaStream_t stream) override {
    if (runs_forward()) TRY(run_forward(copy, stream));
    return trains() ? run_backward(copy, stream) : Expected<void>{};
  }

  Expected<Check> check() override {
    TRY(launch(0, context_.stream));
    TRY(context_.wait("cudnnBackendExecute"));
    return check_cudnn_attention(context_, shape_, set(0));
  }

 private:
  static constexpr std::size_t kStatistics = 4;

  [[nodiscard]] bool runs_forward() const { return pass_ != AttentionPass::backward; }
  [[nodiscard]] bool trains() const { return makes_gradients(pass_); }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(shape_.batch * shape_.heads * shape_.queries) * sizeof(float);
  }
  [[nodiscard]] std::size_t query_bytes() const {
    return static_cast<std::size_t>(shape_.batch * shape_.queries * shape_.heads * shape_.head_dim) * 2;
  }
  [[nodiscard]] std::size_t key_bytes() const {
    return static_cast<std::size_t>(shape_.batch * shape_.keys * shape_.kv_heads * shape_.head_dim) * 2;
  }
  /// q, k, v, o, statistics; do, dq, dk, dv.
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> bytes{query_bytes(), key_bytes(), key_bytes(), query_bytes(), row_bytes()};
    if (trains()) bytes.insert(bytes.end(), {query_bytes(), query_bytes(), key_bytes(), key_bytes()});
    return bytes;
  }
  static Expected<void> add(std::vector<BufferSets>& into, std::size_t bytes, int copies) {
    TRY(auto sets, BufferSets::make(bytes, copies));
    into.push_back(std::move(sets));
    return {};
  }
  /// Workspaces and what the backward pass sums in: frameworks too use the same memory for every layer.
  Expected<void> add_scratch() {
    scratch_.clear();
    TRY(add(scratch_, std::max(forward_.workspace_bytes(), backward_.workspace_bytes()), 1));
    if (!trains()) return {};
    TRY(add(scratch_, 2 * query_bytes(), 1));
    return add(scratch_, row_bytes(), 1);
  }
  [[nodiscard]] AttentionSet set(int copy) const {
    const auto at = [&](std::size_t tensor) { return tensor < tensors_.size() ? tensors_[tensor].at(copy) : nullptr; };
    return {at(0), at(1), at(2), at(3), at(kStatistics), at(5), at(6), at(7), at(8)};
  }
  [[nodiscard]] CudnnPointers common(const AttentionSet& set) const {
    CudnnPointers pointers;
    pointers.add(id_q, set.q);
    pointers.add(id_k, set.k);
    pointers.add(id_v, set.v);
    pointers.add(id_o, set.o);
    pointers.add(id_statistics, set.statistics);
    pointers.add(id_scale, &scalars_.scale);
    if (shape_.causal) pointers.add(id_minus_infinity, &scalars_.minus_infinity);
    return pointers;
  }
  Expected<void> run_forward(int copy, cudaStream_t stream) const {
    return forward_.run(common(set(copy)), scratch_[0].at(0), stream);
  }
  Expected<void> run_backward(int copy, cudaStream_t stream) const {
    const AttentionSet of = set(copy);
    CudnnPointers pointers = common(of);
    pointers.add(id_one, &scalars_.one);
    pointers.add(id_do, of.d_o);
    pointers.add(id_dq, of.d_q);
    pointers.add(id_dk, of.d_k);
    pointers.add(id_dv, of.d_v);
    pointers.add(id_query_sums, scratch_[1].at(0));
    pointers.add(id_row_sums, scratch_[2].at(0));
    return backward_.run(pointers, scratch_[0].at(0), stream);
  }

  GpuContext& context_;
  CudnnAttentionShape shape_;
  AttentionPass pass_;
  AttentionScalars scalars_;
  CudnnPlan forward_, backward_;
  std::vector<BufferSets> tensors_, scratch_;
};

Expected<CudnnAttentionShape> attention_shape(const AttentionQuery& query) {
  const std::string where = work_name(query);
  for (const double size : {query.batch, query.queries, query.keys, query.heads, query.kv_heads, query.head_dim})
    if (size < 1 || size > std::numeric_limits<std::int32_t>::max() || size != std::floor(size))
      return fail(where, "sizes are whole numbers from 1 to 2147483647, not " + std::to_string(size),
          "batch, heads, queries and keys as whole numbers");
  if (query.precision != Precision::bf16 && query.precision != Precision::fp16)
    return fail(where, "cuDNN's attention is timed in bf16 and fp16 only", "bf16 or fp16");
  const bool decode = query.pass == AttentionPass::decode;
  if (query.keys < 2 || query.queries != (decode ? 1 : query.keys) || is_latent(query))
    return fail(where, "cuDNN's attention is timed on whole sequences, and on one query of each",
        "as many queries as keys, two at least, forward or backward; or one query in decode");
  if (std::fmod(query.heads, query.kv_heads) != 0)
    return fail(where, "heads are no multiple of the heads of keys and values", "heads in equal groups");
  const auto whole = [](double size) { return static_cast<std::int64_t>(size); };
  // A single query stands behind all keys.
  return CudnnAttentionShape{whole(query.batch), whole(query.queries), whole(query.keys), whole(query.heads),
      whole(query.kv_heads), whole(query.head_dim), query.causal && !decode,
      query.precision == Precision::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16};
}

/// What NVIDIA's own front end works around or refuses by version (NVIDIA/cudnn-frontend at 3929da2,
/// include/cudnn_frontend/node/scaled_dot_product_flash_attention.h): before 9.6 gradients are summed into memory that
/// the caller has to clear, 9.10.0 and 9.10.1 compute wrong gradients, and so do those up to 9.15 in part tiles.
Expected<void> version_allows(std::size_t version, const AttentionQuery& query) {
  const std::string where = work_name(query);
  if (version < 90600) return fail(where, "cuDNN " + std::to_string(version) + " is too old", "cuDNN 9.6 or newer");
  if (!makes_gradients(query.pass)) return {};
  if (version == 91000 || version == 91001)
    return fail(where, "cuDNN 9.10.0 and 9.10.1 compute wrong gradients of attention", "cuDNN 9.10.2 or newer");
  if (version <= 91500 && std::fmod(query.keys, 128) != 0)
    return fail(
        where, "cuDNN before 9.15.1 needs multiples of 128 keys for gradients", "another length, or a newer cuDNN");
  return {};
}

using WriteGraph = void (*)(CudnnGraph&, const CudnnAttentionShape&);

Expected<CudnnPlan> plan_of(
    const CudnnLibrary& library, cudnnHandle_t handle, const CudnnAttentionShape& shape, WriteGraph write) {
  CudnnGraph graph(library);
  write(graph, shape);
  TRY(graph.finish(handle));
  return CudnnPlan::make(library, handle, graph);
}

}  // namespace

MadeOperation make_cudnn_attention(GpuContext& context, const AttentionQuery& query) {
  TRY(const auto shape, attention_shape(query));
  if (!context.at_least(8, 0))
    return fail(work_name(query), "cuDNN's fused attention needs compute capability 8.0 (A100)", context.device.name);
  TRY(const auto library, cudnn_library());
  const std::size_t version = library->version();
  TRY(version_allows(version, query));
  TRY(const auto handle, cudnn_handle(context.index));

  TRY(auto forward, plan_of(*library, handle, shape, write_attention_forward));
  CudnnPlan backward;
  if (makes_gradients(query.pass)) {
    TRY(backward, plan_of(*library, handle, shape, write_attention_backward));
  }
  AttentionScalars scalars;
  scalars.scale = static_cast<float>(1 / std::sqrt(query.head_dim));
  // Before 9.10 its kernels take the lowest number for what no query sees (the same front end, get_negative_inf_value).
  using Limits = std::numeric_limits<float>;
  scalars.minus_infinity = version < 91000 ? Limits::lowest() : -Limits::infinity();
  return std::make_unique<CudnnAttention>(context, shape, query.pass, scalars, std::move(forward), std::move(backward));
}

#else

MadeOperation make_cudnn_attention(GpuContext&, const AttentionQuery& query) {
  return fail(work_name(query), "this program was built without cuDNN's headers",
      "install them (cudnn.h beside CUDA's headers) and build again");
}

#endif

}  // namespace stepcast::kernels::gpu
