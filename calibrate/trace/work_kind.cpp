#include "calibrate/trace/work_kind.h"

#include <array>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
struct KindName { WorkKind kind; const char* text; };
constexpr KindName kind_names[] = {
    {WorkKind::gemm, "gemm"}, {WorkKind::grouped_gemm, "grouped gemm"}, {WorkKind::conv, "conv"},
    {WorkKind::attention, "attention"}, {WorkKind::norm, "norm and softmax"}, {WorkKind::elementwise, "elementwise"},
    {WorkKind::copy_layout, "copies of layout"}, {WorkKind::embedding, "embedding"}, {WorkKind::routing, "routing"},
    {WorkKind::scan, "scan"}, {WorkKind::optimizer, "optimizer"}, {WorkKind::unplaced, "unplaced"},
    {WorkKind::communication, "communication"}, {WorkKind::memcpy, "memcpy"}, {WorkKind::memset, "memset"}};
static_assert(std::size(kind_names) == work_kinds);

struct KernelNameRow { WorkKind kind; std::string_view part; };
/// Parts of names in lower case, from what is sure to what is vague: kernels bear their types and functors in their
/// names, so that "gemm" stands in fbgemm's look-ups and "lamb" in every lambda.
constexpr KernelNameRow kind_rows[] = {
    // Collectives: NCCL and RCCL, symmetric memory of PyTorch, engines' own, DeepEP, NVSHMEM, Transformer Engine.
    {WorkKind::communication, "nccl"}, {WorkKind::communication, "rccl"},
    {WorkKind::communication, "multimem_all_reduce"}, {WorkKind::communication, "two_shot_all_reduce"},
    {WorkKind::communication, "one_shot_all_reduce"}, {WorkKind::communication, "cross_device_reduce"},
    {WorkKind::communication, "allreduce_fusion"}, {WorkKind::communication, "lamport"},
    {WorkKind::communication, "deep_ep"}, {WorkKind::communication, "nvshmem"},
    {WorkKind::communication, "userbuffers_fp16_sum"}, {WorkKind::communication, "moealltoall"},
    // Recommendation models: FBGEMM's tables, whose backward applies the optimizer, and their indices.
    {WorkKind::optimizer, "split_embedding_backward"}, {WorkKind::embedding, "split_embedding"},
    {WorkKind::embedding, "bounds_check_indices"}, {WorkKind::embedding, "linearize_index"},
    {WorkKind::routing, "fbgemm_gpu::permute"}, {WorkKind::routing, "permute_pooled_embs"},
    {WorkKind::routing, "fbgemm_gpu::"},
    // Attention: FlashAttention, cuDNN, TensorRT-LLM, xFormers, AOTriton, Composable Kernel, paged decoding.
    {WorkKind::attention, "flash_fwd"}, {WorkKind::attention, "flash_bwd"}, {WorkKind::attention, "flash::"},
    {WorkKind::attention, "flashattn"}, {WorkKind::attention, "flash_attention"}, {WorkKind::attention, "fmha"},
    {WorkKind::attention, "attn_fwd"}, {WorkKind::attention, "attn_bwd"}, {WorkKind::attention, "bwd_kernel_dk_dv"},
    {WorkKind::attention, "bwd_kernel_dq"}, {WorkKind::attention, "bwd_preprocess"},
    {WorkKind::attention, "_sdpa_"}, {WorkKind::attention, "paged_attention"}, {WorkKind::attention, "mha_"},
    {WorkKind::attention, "unified_attention"}, {WorkKind::attention, "batchdecode"},
    {WorkKind::attention, "batchprefill"}, {WorkKind::attention, "reshape_and_cache"},
    {WorkKind::attention, "scaled_fp8_quant_kernel_strided"}, {WorkKind::attention, "kernel_unified_attention"},
    {WorkKind::attention, "mla_"}, {WorkKind::attention, "flashmla"},
    // Mixers over states.
    {WorkKind::scan, "selective_scan"}, {WorkKind::scan, "_chunk_scan"}, {WorkKind::scan, "_chunk_state"},
    {WorkKind::scan, "_state_passing"}, {WorkKind::scan, "_chunk_cumsum"}, {WorkKind::scan, "chunk_gated_delta"},
    {WorkKind::scan, "causal_conv1d"}, {WorkKind::scan, "mamba"},
    // Convolutions: cuDNN, its CUTLASS and Winograd kernels, MIOpen.
    {WorkKind::conv, "implicitgemm"}, {WorkKind::conv, "implicit_gemm"}, {WorkKind::conv, "winograd"},
    {WorkKind::conv, "dgrad"}, {WorkKind::conv, "wgrad_alg"}, {WorkKind::conv, "wgrad2d"}, {WorkKind::conv, "_wgrad_"},
    {WorkKind::conv, "wgrad_engine"}, {WorkKind::conv, "fprop"}, {WorkKind::conv, "scudnn"}, {WorkKind::conv, "hcudnn"},
    {WorkKind::conv, "convolve"}, {WorkKind::conv, "conv2d"}, {WorkKind::conv, "conv_depthwise"},
    {WorkKind::conv, "igemm_"}, {WorkKind::conv, "wgrad_optimized"},
    // Products over experts: TensorRT-LLM's batched kernels, CUTLASS, DeepGEMM, Triton of vLLM, Transformer Engine.
    {WorkKind::grouped_gemm, "grouped_gemm"}, {WorkKind::grouped_gemm, "groupedgemm"},
    {WorkKind::grouped_gemm, "grouped_mm"}, {WorkKind::grouped_gemm, "group_gemm"},
    {WorkKind::grouped_gemm, "fused_moe_kernel"}, {WorkKind::grouped_gemm, "moe_gemm"},
    {WorkKind::grouped_gemm, "moegemm"}, {WorkKind::grouped_gemm, "_dynbatch_"}, {WorkKind::grouped_gemm, "_moe_mxk"},
    {WorkKind::grouped_gemm, "gemmgrouped"}, {WorkKind::grouped_gemm, "grouped_fp8"},
    // Routing of tokens, sorts and prefix sums.
    {WorkKind::routing, "moe::dev::routing"}, {WorkKind::routing, "moe_align"}, {WorkKind::routing, "topk"},
    {WorkKind::routing, "topkgating"}, {WorkKind::routing, "moe_permute"}, {WorkKind::routing, "moe_unpermute"},
    {WorkKind::routing, "_permute_kernel"}, {WorkKind::routing, "_unpermute_kernel"},
    {WorkKind::routing, "radixsort"}, {WorkKind::routing, "radix_sort"}, {WorkKind::routing, "bitonicsort"},
    {WorkKind::routing, "devicescan"}, {WorkKind::routing, "wrapped_scan"}, {WorkKind::routing, "cub::devicescan"},
    {WorkKind::routing, "devicemerge"}, {WorkKind::routing, "sort_keys"}, {WorkKind::routing, "moe_sum"},
    {WorkKind::elementwise, "moe::dev::"},
    // Optimizers: PyTorch's foreach and fused kernels, apex, Transformer Engine, DeepSpeed.
    {WorkKind::optimizer, "multi_tensor_apply"}, {WorkKind::optimizer, "multi_tensor_adam"},
    {WorkKind::optimizer, "fusedadam"}, {WorkKind::optimizer, "fused_adam"}, {WorkKind::optimizer, "adamw"},
    {WorkKind::optimizer, "adam_kernel"}, {WorkKind::optimizer, "lamb_stage"},
    // Norms and softmax.
    {WorkKind::norm, "layer_norm"}, {WorkKind::norm, "layernorm"}, {WorkKind::norm, "rms_norm"},
    {WorkKind::norm, "rmsnorm"}, {WorkKind::norm, "gammabeta"}, {WorkKind::norm, "ln_fwd"}, {WorkKind::norm, "ln_bwd"},
    {WorkKind::norm, "batch_norm"}, {WorkKind::norm, "batchnorm"}, {WorkKind::norm, "bn_fw"}, {WorkKind::norm, "bn_bw"},
    {WorkKind::norm, "group_norm"}, {WorkKind::norm, "groupnorm"}, {WorkKind::norm, "softmax"},
    {WorkKind::norm, "cross_entropy"}, {WorkKind::norm, "nll_loss"}, {WorkKind::norm, "normalization"},
    // Embeddings and indices.
    {WorkKind::embedding, "embedding"}, {WorkKind::embedding, "index_select"}, {WorkKind::embedding, "indexselect"},
    {WorkKind::embedding, "gather"}, {WorkKind::embedding, "scatter"}, {WorkKind::embedding, "index_elementwise"},
    {WorkKind::embedding, "indexing_backward"}, {WorkKind::embedding, "rotary_embedding"},
    // Copies and changes of layout.
    {WorkKind::copy_layout, "copy_kernel"}, {WorkKind::copy_layout, "catarray"}, {WorkKind::copy_layout, "transpose"},
    {WorkKind::copy_layout, "nchwtonhwc"}, {WorkKind::copy_layout, "nhwctonchw"},
    {WorkKind::copy_layout, "_copy_page"}, {WorkKind::copy_layout, "chunk_cat"}, {WorkKind::copy_layout, "split_copy"},
    {WorkKind::copy_layout, "permute"}, {WorkKind::copy_layout, "batched_memcpy"},
    // Products: cuBLAS, cuBLASLt, CUTLASS, hipBLASLt and rocBLAS (Tensile), Triton, DeepGEMM. Behind the others:
    // PyTorch's element-wise kernels name none of these.
    {WorkKind::gemm, "gemm"}, {WorkKind::gemm, "nvjet"}, {WorkKind::gemm, "cijk_"}, {WorkKind::gemm, "gemv"},
    {WorkKind::gemm, "splitkreduce"}, {WorkKind::gemm, "splitk_reduce"}, {WorkKind::gemm, "cublas"},
    {WorkKind::gemm, "cutlass::kernel"}, {WorkKind::gemm, "cutlass::device_kernel"}, {WorkKind::gemm, "_matmul"},
    {WorkKind::gemm, "matmul_kernel"}, {WorkKind::gemm, "triton_tem_"}, {WorkKind::gemm, "dot_kernel"},
    {WorkKind::gemm, "bmm_"}, {WorkKind::gemm, "wvsplitk"},
    // All that runs over elements.
    {WorkKind::elementwise, "elementwise"}, {WorkKind::elementwise, "reduce_kernel"},
    {WorkKind::elementwise, "act_and_mul"}, {WorkKind::elementwise, "silu"}, {WorkKind::elementwise, "gelu"},
    {WorkKind::elementwise, "swiglu"}, {WorkKind::elementwise, "dropout"}, {WorkKind::elementwise, "rotary"},
    {WorkKind::elementwise, "rope"}, {WorkKind::elementwise, "store_kvcache"}, {WorkKind::elementwise, "quant"},
    {WorkKind::elementwise, "cast"}, {WorkKind::elementwise, "triton_poi"}, {WorkKind::elementwise, "triton_red"},
    {WorkKind::elementwise, "triton_per"}, {WorkKind::elementwise, "pool"}, {WorkKind::elementwise, "fillfunctor"},
    {WorkKind::elementwise, "distribution_"}, {WorkKind::elementwise, "op_tensor"},
    {WorkKind::elementwise, "optensor"}, {WorkKind::elementwise, "arange"}, {WorkKind::elementwise, "at::native"},
    {WorkKind::elementwise, "addmul"}, {WorkKind::elementwise, "bias"}, {WorkKind::elementwise, "cudnn::ops"},
    {WorkKind::elementwise, "compute_position"}, {WorkKind::elementwise, "resolve_future_token"},
    {WorkKind::elementwise, "cub::"}, {WorkKind::elementwise, "rocprim"},
};

struct CollectiveWord { std::string_view part, kind; };
/// Without underscores, in lower case. AllGather's base form of PyTorch is an all-gather; all_to_all of NCCL's are
/// sends and receives, and its kernels say so.
constexpr CollectiveWord collective_parts[] = {
    {"reducescatter", "reduce_scatter"}, {"allreduce", "all_reduce"}, {"crossdevicereduce", "all_reduce"},
    {"lamport", "all_reduce"}, {"allgather", "all_gather"}, {"alltoall", "all_to_all"}, {"all2all", "all_to_all"},
    {"dispatch", "all_to_all"}, {"combine", "all_to_all"}, {"sendrecv", "send_recv"}, {"send", "send_recv"},
    {"recv", "send_recv"}, {"broadcast", "broadcast"}, {"barrier", "barrier"}, {"reduce", "reduce"}};
// clang-format on

}  // namespace

const char* to_text(WorkKind kind) {
  for (const KindName& row : kind_names)
    if (row.kind == kind) return row.text;
  return "?";
}

WorkKind work_kind_of(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  for (const KernelNameRow& row : kind_rows)
    if (name.find(row.part) != std::string::npos) return row.kind;
  return WorkKind::unplaced;
}

std::string_view collective_kind_in(std::string_view name) {
  std::string plain = lower_case(name);
  std::erase(plain, '_');
  for (const CollectiveWord& row : collective_parts)
    if (plain.find(row.part) != std::string::npos) return row.kind;
  return "collective";
}

}  // namespace stepcast::calibrate
