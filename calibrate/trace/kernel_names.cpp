#include "calibrate/trace/kernel_names.h"

#include <initializer_list>
#include <string>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Parts are in lower case; one that begins with ^ stands at the name's beginning, one with = is all of it.
struct KernelNameRow {
  WorkKind kind;
  std::initializer_list<std::string_view> parts;
};

// clang-format off
/// Kernels bear their types and functors in their names, so that "gemm" stands in fbgemm's look-ups and "lamb" in every
/// lambda: what is sure comes first.
const KernelNameRow rows[] = {
    // Inductor names a kernel by all operators that it fused, those of functional collectives among them; only the
    // beginning tells what it is: pointwise, reduction, foreach, template of a product.
    {WorkKind::attention, {"flex_attention"}},
    {WorkKind::grouped_gemm, {"^triton_tem_fused__grouped_mm"}},
    {WorkKind::conv, {"^triton_tem_fused_conv"}},
    {WorkKind::gemm, {"^triton_tem_", "^triton_mm", "^triton_bmm"}},
    {WorkKind::optimizer, {"^triton_for_"}},
    {WorkKind::norm, {"^triton_red_", "^triton_per_"}},
    {WorkKind::elementwise, {"^triton_poi_", "^triton_unk_"}},

    // Collectives: NCCL and RCCL of all ages, MSCCL, symmetric memory of PyTorch, engines' own, experts' exchanges
    // (DeepEP, MoRI, TensorRT-LLM), NVSHMEM and its AMD kin, Transformer Engine's user buffers.
    {WorkKind::communication, {"nccl", "rccl", "msccl", "nvshmem", "rocshmem", "deep_ep", "mori::", "userbuffers"}},
    {WorkKind::communication, {"multimem_", "two_shot_", "one_shot_", "twoshot", "oneshotallreduce", "quickreduce",
     "cross_device_reduce", "cross_device_store", "lamport", "moealltoall", "moe_a2a", "moea2a"}},
    {WorkKind::communication, {"allreduce", "all_reduce", "reducescatter", "reduce_scatter", "allgather", "all_gather",
     "alltoall", "all_to_all", "all2all", "put_signal_kernel", "wait_signal_kernel", "::barrier_kernel", "mnnvl"}},

    // Recommendation models: FBGEMM's tables, whose backward applies the optimizer, and their indices.
    {WorkKind::optimizer, {"split_embedding_backward"}},
    {WorkKind::embedding, {"split_embedding", "bounds_check_indices", "linearize_index"}},
    {WorkKind::routing, {"fbgemm_gpu::permute", "permute_pooled_embs", "recat_copy_async"}},
    {WorkKind::grouped_gemm, {"fbgemm_gpu::kernel_grouped", "fbgemm_gpu::grouped"}},
    {WorkKind::routing, {"fbgemm_gpu::"}},

    // Norms that bear other words in front.
    {WorkKind::norm, {"rmsnorm", "rms_norm"}},

    // Attention: FlashAttention 1 to 4, cuDNN, TensorRT-LLM, xFormers and PyTorch's memory-efficient kernels,
    // FlashInfer, AOTriton, Composable Kernel, AITER, MLA, paged decoding, the cache of keys and values.
    {WorkKind::attention, {"flash_fwd", "flash_bwd", "flash::", "flashattn", "flash_attn", "flash_attention",
     "flashmla", "fmha", "_sdpa_", "mha_", "attentionkernel", "attention_kernel", "attn_fwd", "attn_bwd", "_attn_"}},
    {WorkKind::attention, {"bwd_kernel_dk_dv", "bwd_kernel_dq", "bwd_kernel_fuse", "bwd_preprocess", "bwd_postprocess",
     "=_fwd_kernel", "_fwd_kernel_splitk", "=_splitk_reduce", "kernel_mha", "_fwd_kernel_stage",
     "_fwd_grouped_kernel_stage", "=_bwd_kernel"}},
    {WorkKind::attention, {"paged_attention", "unified_attention", "context_attention", "multihead_attention",
     "decode_attention", "batchdecode", "batchprefill", "singledecode", "singleprefill", "withpagedkv", "withraggedkv",
     "batchmla", "mla_", "mergestate", "merge_attn", "mqa_logits", "aiter::pa_", "^pa_fwd", "pa_decode", "pa_prefill",
     "^pa_bf16", "pa_a16w", "^attention_", "dot_do_o", "convert_dq_to"}},
    {WorkKind::attention, {"reshape_and_cache", "concat_and_cache", "pagedkvcache", "updatekvcache",
     "scaled_fp8_quant_kernel_strided"}},

    // Mixers over states: Mamba and its kin, linear attention (flash-linear-attention), RWKV.
    {WorkKind::scan, {"selective_scan", "_chunk_scan", "_chunk_state", "_state_passing", "_chunk_cumsum", "bmm_chunk",
     "selective_state_update", "chunk_gated_delta", "chunk_delta_rule", "fused_recurrent", "chunk_fwd_kernel",
     "chunk_bwd_kernel", "chunk_gla", "chunk_kda", "chunk_local_cumsum", "chunk_scaled_dot", "solve_tril",
     "recompute_w_u", "causal_conv1d", "wkv_", "ssdkernel", "mamba"}},

    // What convolutions and products run before or behind them without multiplying.
    {WorkKind::elementwise, {"computeoffsets", "computeboffsets", "computewgradoffsets"}},

    // Convolutions: cuDNN with its CUTLASS, Winograd and FFT kernels, MIOpen, Composable Kernel.
    {WorkKind::conv, {"implicitgemm", "implicit_gemm", "winograd", "dgrad", "wgrad_alg", "wgrad2d", "_wgrad_",
     "wgrad_engine", "wgrad_optimized", "fprop", "scudnn", "hcudnn", "884cudnn", "688cudnn", "816cudnn", "icudnn",
     "convolve", "convolution", "reduce_wgrad", "conv2d", "conv_depthwise", "conv_fwd",
     "conv_bwd", "asmconv", "sp3asm", "naive_conv",
     "igemm_"}},

    // Products over experts: TensorRT-LLM's batched kernels, CUTLASS, DeepGEMM, Triton of engines, AITER, Marlin,
    // ScatterMoE, MegaBlocks, Transformer Engine.
    {WorkKind::grouped_gemm, {"grouped_gemm", "groupedgemm", "grouped_mm", "group_gemm", "groupgemm", "gemmgrouped",
     "gemm_grouped", "groupproblemshape", "grouped_fp8", "mgrouped", "m_grouped", "fused_moe", "fmoe", "moe_gemm",
     "moe_q2", "moe_q3", "moe_q4", "moe_q5", "moe_q6", "moe_q8",
     "moegemm", "moe_mxgemm", "moe_stage", "marlin_moe", "moe_wna16", "marlinmoe", "matmul_ogs", "scatter2scatter",
     "_dynbatch_", "_moe_mxk", "routed_moe", "_sdd_kernel", "_dsd_kernel", "_dds_kernel"}},

    // Routing of tokens, sorts and prefix sums.
    {WorkKind::routing, {"moe::dev::routing", "moe_align", "moealign", "topk", "moe_permute", "moe_unpermute",
     "_permute_kernel", "_unpermute_kernel", "moe_sort", "moesort", "moe_fused_gate", "moe_sum", "moerouting",
     "expandinputrows", "buildexpertmaps", "expert_tokens", "noaux_tc", "topp", "ep_scatter", "ep_gather", "src2dst",
     "seg_indptr", "compute_m_range", "radixsort", "radix_sort",
     "bitonicsort", "devicescan", "wrapped_scan", "devicemerge", "sort_keys"}},
    {WorkKind::elementwise, {"moe::dev::"}},

    // Optimizers: PyTorch's foreach and fused kernels, apex, Transformer Engine, DeepSpeed, bitsandbytes.
    {WorkKind::optimizer, {"multi_tensor_apply", "multi_tensor_adam", "multi_tensor_l2norm", "fusedadam", "fused_adam",
     "adamw", "adam_kernel", "adam_cuda_kernel", "adamkernel", "lamb_stage", "adagrad", "koptimizer",
     "preconditionoptimizer", "lion_", "newton_schulz"}},

    // Norms and softmax.
    {WorkKind::norm, {"layer_norm", "layernorm", "gammabeta", "computegradinput", "ln_fwd",
     "ln_bwd", "batch_norm", "batchnorm", "bn_fw", "bn_bw", "group_norm", "groupnorm", "l2norm", "softmax",
     "rowwisemoments", "cross_entropy", "crossentropy", "nll_loss", "normalization", "fused_add_rms",
     "nvfuser_inner", "nvfuser_outer", "nvfuser_reduction", "input_reduce_fusion"}},

    // Embeddings and indices; rotary ones look nothing up.
    {WorkKind::elementwise, {"rotary", "rope_embedding"}},
    {WorkKind::embedding, {"embedding", "index_select", "index_put", "indexselect", "gather", "scatter",
     "index_elementwise", "indexing_backward", "kv_indices", "slot_mapping", "req_to_token", "alloc_extend",
     "alloc_decode", "get_last_loc"}},

    // Copies and changes of layout; on AMD the runtime copies by kernels of its own.
    {WorkKind::copy_layout, {"copy_kernel", "catarray", "transpose", "nchwtonhwc", "nhwctonchw", "_copy_page",
     "chunk_cat", "split_copy", "split_with_sizes", "permute", "batched_memcpy", "rocclr", "copybuffer", "fillbuffer",
     "im2col", "col2im", "padding_kernel", "addpadding", "nvfuser_transpose",
     "input_concatenate_fusion"}},

    // What a library runs before or behind a product without multiplying.
    {WorkKind::elementwise, {"epilogue::impl::globalkernel", "kdequantize", "kquantize"}},

    // Products: cuBLAS, cuBLASLt, CUTLASS, hipBLASLt and rocBLAS (Tensile), Composable Kernel, Triton, DeepGEMM,
    // quantised weights of engines. Behind the others: PyTorch's element-wise kernels name none of these.
    {WorkKind::gemm, {"gemm", "nvjet", "cijk_", "gemv", "splitk", "split_k", "cublas", "rocblas", "cutlass::kernel",
     "cutlass::device_kernel", "_matmul", "matmul_kernel", "dot_kernel", "bmm_", "wvsplit", "marlin", "machete",
     "xmma_new::", "wmma_", "trsm_", "syrk", "mul_mat", "tiledmma"}},

    // All that runs over elements.
    {WorkKind::elementwise, {"elementwise", "reduce_kernel", "reduce_1block", "act_and_mul", "activation", "silu",
     "gelu", "swiglu", "geglu", "relu", "dropout", "rope", "store_kvcache", "quant", "cast", "convert",
     "triton_poi", "triton_red", "triton_per", "pool", "fillfunctor", "distribution_", "op_tensor", "optensor",
     "arange", "curand", "generate_seed", "addmul", "bias", "cudnn::ops", "compute_position", "resolve_future_token",
     "at::", "2at6native", "cub::", "rocprim", "thrust", "eigenmetakernel", "nvfuser_", "_fusion", "^fused_",
     "element_mul",
     "gated_act", "sampl", "rejection_", "cudacodegen::"}},

    // Kernels whose own names do not say it, as profiles show them. A library's name says nothing: Transformer Engine,
    // vLLM and FlashInfer have products, too.
    {WorkKind::elementwise, {"transformer_engine::unary_kernel", "vllm::apply_repetition_penalties"}},
};
// clang-format on

bool is_in(std::string_view name, std::string_view part) {
  if (part.starts_with('=')) return name == part.substr(1);
  if (part.starts_with('^')) return name.starts_with(part.substr(1));
  return name.find(part) != std::string_view::npos;
}

}  // namespace

WorkKind work_kind_of(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  for (const KernelNameRow& row : rows)
    for (const std::string_view part : row.parts)
      if (is_in(name, part)) return row.kind;
  return WorkKind::unplaced;
}

}  // namespace stepcast::calibrate
