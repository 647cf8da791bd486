#include "calibrate/trace/work_kind.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate::work_kind_test {
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

TEST(TracedKernels, CollectivesSayTheirKind) {
  const std::pair<const char*, const char*> rows[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"}, {"_allgather_base", "all_gather"},
      {"ncclDevKernel_SendRecv(ncclDevComm*)", "send_recv"}, {"dnorm1.y reduce_scatter", "reduce_scatter"},
      {"ncclDevKernel_Generic(ncclDevComm*)", "collective"},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>", "all_reduce"}};
  for (const auto& [name, kind] : rows) EXPECT_EQ(collective_kind_in(name), kind) << name;
}

}  // namespace
}  // namespace stepcast::calibrate::work_kind_test
