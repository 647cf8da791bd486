#include "calibrate/trace/kernel_names.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate::kernel_names_test {
namespace {

TEST(TracedKernels, NamesSayTheirWork) {
  // clang-format off
  const std::pair<const char*, WorkKind> rows[] = {
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", WorkKind::gemm},
      {"nvjet_tst_192x8_64x8_4x1_v_bz_TNT", WorkKind::gemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x64", WorkKind::gemm},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", WorkKind::gemm},
      {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_biasM_bN_dynBatch_sm100f", WorkKind::grouped_gemm},
      {"cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", WorkKind::conv},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128> >", WorkKind::attention},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", WorkKind::attention},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<List<2> >", WorkKind::optimizer},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", WorkKind::communication},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>", WorkKind::communication},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(x)>",
       WorkKind::copy_layout},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>", WorkKind::norm},
      {"a_kernel_of_nobody", WorkKind::unplaced}};
  // clang-format on
  for (const auto& [name, kind] : rows) EXPECT_EQ(work_kind_of(name), kind) << name;
}

/// "lamb" stands in every lambda, "gemm" in fbgemm.
TEST(TracedKernels, PartsOfOtherWordsAreNotTaken) {
  EXPECT_EQ(
      work_kind_of("void at::native::elementwise_kernel<sqrt_kernel_cuda(x)::{lambda()#2}>"), WorkKind::elementwise);
  EXPECT_EQ(work_kind_of("void fbgemm_gpu::permute_indices_weights_kernel<false, int>"), WorkKind::routing);
}

/// A product over quantised weights, and what nobody has seen, stand in the same namespaces.
TEST(TracedKernels, ALibrarysNameSaysNoWork) {
  EXPECT_EQ(work_kind_of("void vllm::apply_repetition_penalties_kernel<float>"), WorkKind::elementwise);
  EXPECT_EQ(work_kind_of("void vllm::aqlm::Code1x16MatVec<1>"), WorkKind::unplaced);
  EXPECT_EQ(work_kind_of("void flashinfer::a_kernel_of_tomorrow<8>"), WorkKind::unplaced);
  EXPECT_EQ(work_kind_of("void transformer_engine::a_kernel_of_tomorrow<8>"), WorkKind::unplaced);
}

/// Names of 2021 to 2026 of NVIDIA's and AMD's libraries, engines and compilers.
TEST(TracedKernels, OtherToolsNamesSayTheirWork) {
  // clang-format off
  const std::pair<const char*, WorkKind> rows[] = {
      {"void cutlass_cudnn_train::Kernel<cutlass_cudnn_train::reduction::kernel::ReduceSplitK<x> >", WorkKind::gemm},
      {"void epilogue::impl::globalKernel<float, float, float, true, true>(int, cublasLtEpilogue_t)",
       WorkKind::elementwise},
      {"cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_bf16_bf16_128x256x64", WorkKind::gemm},
      {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<x> > >",
       WorkKind::grouped_gemm},
      {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<x> > >", WorkKind::attention},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_31_64x64x128", WorkKind::attention},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", WorkKind::attention}, {"_fwd_kernel", WorkKind::attention},
      {"bwd_kernel_fuse", WorkKind::attention}, {"attn_fwd", WorkKind::attention},
      {"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelE", WorkKind::attention},
      {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<x>", WorkKind::attention},
      {"_layer_norm_fwd_kernel", WorkKind::norm}, {"triton_red_fused_native_layer_norm_3", WorkKind::norm},
      {"triton_poi_fused_all_gather_into_tensor_cat_wait_tensor_2", WorkKind::elementwise},
      {"triton_tem_fused_mm_4", WorkKind::gemm}, {"triton_tem_fused_flex_attention_0", WorkKind::attention},
      {"Cijk_SB_BiasS_HAS_ScaleAlphaVec_PostGSU16_VW4", WorkKind::gemm},
      {"void ck::kernel_grouped_gemm_xdl<x>", WorkKind::grouped_gemm},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4", WorkKind::grouped_gemm},
      {"fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", WorkKind::grouped_gemm},
      {"mscclKernel_Sum_float_LL_false(ncclDevComm*)", WorkKind::communication},
      {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16", WorkKind::communication},
      {"void aiter::reduce_scatter_cross_device_store<bf16, 8>", WorkKind::communication},
      {"void deep_ep::internode_ll::dispatch<true, false, 7168>", WorkKind::communication},
      {"__amd_rocclr_fillBufferAligned", WorkKind::copy_layout},
      {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp", WorkKind::conv},
      {"miopenSp3AsmConv_v21_1_3_gfx9_fp32_f2x3_stride1", WorkKind::conv},
      {"_bmm_chunk_fwd_kernel", WorkKind::scan}, {"triton_for_fused_0", WorkKind::optimizer},
      {"void split_embedding_codegen_forward_kernel<float>(fbgemm_gpu::PlacementType)", WorkKind::embedding}};
  // clang-format on
  for (const auto& [name, kind] : rows) EXPECT_EQ(work_kind_of(name), kind) << name;
}

/// As people's profiles show them in issues and notes of public repositories; what nobody can know stays unplaced.
TEST(TracedKernels, NamesOfPublishedProfiles) {
  // clang-format off
  const std::pair<const char*, WorkKind> rows[] = {
      {"kernel_cutlass_elementwise_add_kernel_tensorptrf32gmemo16128i641i64div16128", WorkKind::elementwise},
      {"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__", WorkKind::norm},
      {"bmm_E4m3_E4m3E4m3_Fp32_BtokBfloat16_t128x8x256_s6_et128x8_m128x8x32_c1x1x1_rM_TN_transOut_schPd2x",
       WorkKind::gemm},
      {"kernel_cutlass__convert_kernel_tensorptrf16gmemalign16o125611101000256", WorkKind::elementwise},
      {"_ZN5aiter41mla_dec_stage1_bf16_a16w16_subQ128_mqa128E", WorkKind::attention},
      {"_ZN5aiter44PA_A16W8_BLK256_1TG_4W_16mx1_64nx4_MTP_PS_PBE", WorkKind::attention},
      {"paged_attention_ll4mi_QKV_mfma16_kernel", WorkKind::attention},
      {"pa_prefill_16mx1_fp8_kernel", WorkKind::attention},
      {"fused_mx_quant_moe_sort_kernel", WorkKind::routing},
      {"mxfp4_moe_sort_kernel", WorkKind::routing},
      {"_ZN7ck_tile6kentryILi256E25ProductionTransposeKernelIDF16_Lb1EEJPKDF16_PDF16_iiEEEvDpT1_",
       WorkKind::copy_layout},
      {"_ZN7ck_tile6kentryILi1ENS_22QuantGroupedGemmKernelE", WorkKind::grouped_gemm},
      {"_ZN7ck_tile6kentryILi1ENS_19UniversalGemmKernelINS_29GemmTileNChunked1DPartitionerE", WorkKind::gemm},
      {"aiter::add_rmsnorm_quant_kernel", WorkKind::norm},
      {"void cudnn::fusion::compute_dot_do_o_specialized<true, 128>(x)", WorkKind::attention},
      {"void cudnn::fusion::convert_dq_to_16bits<true>(x)", WorkKind::attention},
      {"void cutlass::device_kernel_sm90<cutlass::fmha::kernel::FmhaKernelBwdSumOdO<x>>", WorkKind::attention},
      {"flashinfer::sampling::TopPSamplingFromProbKernel", WorkKind::routing},
      {"triton_red_fused_amax_amin_31", WorkKind::norm},
      {"triton_tem_fused__fused_rms_norm__unsafe_view_clone_flex_attention_backward_transpose_view_29",
       WorkKind::attention},
      {"moe_wna16_gemm_kernel<__half,4,4>", WorkKind::grouped_gemm},
      {"gluon_mxfp4_moe_stage1_kernel", WorkKind::grouped_gemm},
      {"_attn_res_rmsnorm_kernel", WorkKind::norm},
      {"mul_mat_q<IQ2_XXS,80>", WorkKind::gemm},
      {"attention_mixed_heads32_wmma<true,true>", WorkKind::attention},
      {"head_rms_norm_rope_tail", WorkKind::norm},
      {"trtllm_fp4_block_scale_routed_moe", WorkKind::grouped_gemm},
      {"index_put_kernel", WorkKind::embedding},
      {"mla_fwd_kernel", WorkKind::attention},
      {"fused_bookkeeping", WorkKind::elementwise},
      {"kernel_cutlass_kernel___main__SSDKernel_object_at__CopyAtom", WorkKind::scan},
      {"kernel_cutlass_kernel_TiledMMA_ThrLayoutVMNK11110000_PermutationMNK", WorkKind::gemm},
      {"kernel_cutlass_kernel___main__PersistentDenseGemmKernel_object_at__TiledMMA", WorkKind::gemm},
      {"_packed_input_projections_kernel", WorkKind::unplaced},
      {"_mfma_lds_largem_kernel", WorkKind::unplaced},
      {"masked_row_copy", WorkKind::unplaced},
      {"indexer_scores_wmma128", WorkKind::unplaced},
      {"moe_q2_K", WorkKind::grouped_gemm},
      {"kernel_mha", WorkKind::attention},
      {"_fwd_kernel_splitK", WorkKind::attention},
      {"void deep_ep::intranode::notify_dispatch<8>", WorkKind::communication},
      {"void tensorrt_llm::kernels::mnnvl_throughput::twoshot<x>", WorkKind::communication},
      {"nvf::nvfuser_inner_outer_persistent_f0_c1_r0_g23(nvf::Tensor)", WorkKind::norm},
      {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<x> >", WorkKind::elementwise},
      {"_rope_embedding", WorkKind::elementwise},
      {"element_mul_kernel", WorkKind::elementwise},
      {"void transformer_engine::unary_kernel<8, float>", WorkKind::elementwise},
      {"void transformer_engine::gated_act_kernel<x>", WorkKind::elementwise},
      {"loop_add_fusion", WorkKind::elementwise},
      {"_compute_slot_mapping_kernel", WorkKind::embedding},
      {"_fwd_kernel_ep_scatter_1", WorkKind::routing},
      {"void tensorflow::functor::ApplyAdamKernel<float>", WorkKind::optimizer}};
  // clang-format on
  for (const auto& [name, kind] : rows) EXPECT_EQ(work_kind_of(name), kind) << name;
}

}  // namespace
}  // namespace stepcast::calibrate::kernel_names_test
