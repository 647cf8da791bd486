// Kernel summaries of Nsight Systems in small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"
#include "calibrate/import/profilers/kernel_name.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

ImportOptions nsys_on_h100() {
  ImportOptions options;
  options.context.gpu = "h100-sxm";
  return options;
}

TEST(KernelName, tells_class_type_and_transposes) {
  EXPECT_EQ(kernel_class("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"), "gemm");
  EXPECT_EQ(
      kernel_class("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, cutlass::bfloat16_t>>"), "attention");
  EXPECT_EQ(kernel_class("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), "collective");
  EXPECT_EQ(kernel_class("something"), "other");
  EXPECT_EQ(element_type_of_kernel("ampere_sgemm_128x64_tn")->precision, Precision::fp32);
  EXPECT_EQ(element_type_of_kernel("ampere_bf16_s16816gemm_bf16_128x128")->precision, Precision::bf16);
  EXPECT_EQ(element_type_of_kernel("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n")->precision, Precision::fp8);
  EXPECT_FALSE(element_type_of_kernel("kernel").has_value());
  EXPECT_EQ(*layout_of_kernel("ampere_sgemm_128x64_tn"), GemmLayout::tn);
  EXPECT_EQ(*layout_of_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128"), GemmLayout::nn);
  EXPECT_FALSE(layout_of_kernel("my_tnx_kernel").has_value());
  EXPECT_EQ(*collective_of_kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(args)"), CollectiveKind::reduce_scatter);
}

TEST(ImportNsys, a_summary_without_shapes_is_notes) {
  const char* text = "Processing [r.sqlite] with [cuda_gpu_kern_sum.py]... \n\n"
                     "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
                     "75.0,3000000,30,100000,100000,90000,110000,1,\"void gemm_kernel<int, 4>(float *)\"\n"
                     "25.0,1000000,10,100000,100000,90000,110000,1,other\n";
  EXPECT_GT(recognise_nsys(text, "x.csv"), recognise_table(text, "x.csv"));
  const auto rows = read_nsys(text, "x.csv", {});
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  EXPECT_TRUE(rows->rows.empty());
  ASSERT_EQ(rows->notes.size(), 1u);
  EXPECT_THAT(rows->notes[0], HasSubstr("2 kernels, 100.0 % of 4 ms"));
  EXPECT_THAT(rows->notes[0], HasSubstr("void gemm_kernel<int, 4>(float *) 75.0 %"));
}

TEST(ImportNsys, ranges_that_say_the_shape_make_rows) {
  const char* text =
      "NVTX Range,Style,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel "
      "Name\n"
      "\":aten::addmm, seq = 3, sizes = [[64], [128, 32], [32, 64]], op_id = "
      "7\",PushPop,2,2,20000,10000,9000,8000,12000,1,ampere_bf16_s16816gemm_bf16_128x64_nn\n"
      "\":aten::addmm, seq = 3, sizes = [[64], [128, 32], [32, 64]], op_id = "
      "7\",PushPop,2,2,4000,2000,2000,2000,2000,1,splitKreduce_kernel<__nv_bfloat16>\n"
      ":gemm m=16 n=32 k=64 dtype=fp16,PushPop,1,1,5000,5000,5000,5000,5000,0,my_gemm_tn\n"
      ":step,PushPop,1,1,1000,1000,1000,1000,1000,0,elementwise_kernel\n";
  const auto rows = read_nsys(text, "x.csv", nsys_on_h100());
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  ASSERT_EQ(rows->rows.size(), 2u);
  const auto& gemm = std::get<GemmQuery>(rows->rows[0].what);
  EXPECT_EQ(gemm.m, 128);
  EXPECT_EQ(gemm.n, 64);
  EXPECT_EQ(gemm.k, 32);
  EXPECT_EQ(gemm.precision, Precision::bf16);
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 9e-6);
  EXPECT_DOUBLE_EQ(rows->rows[0].high.value(), 12e-6);
  EXPECT_EQ(rows->rows[0].repeats, 2);
  EXPECT_EQ(std::get<GemmQuery>(rows->rows[1].what).k, 64);
  EXPECT_EQ(std::get<GemmQuery>(rows->rows[1].what).precision, Precision::fp16);
  EXPECT_EQ(rows->notes.size(), 2u);
}

TEST(ImportNsys, json_reads_like_csv_and_units_are_those_of_the_header) {
  const char* json =
      R"j([{"Time (%)": 100.0, "Total Time (us)": 8.0, "Instances": 2,
"Med (us)": 4.0, "Name": "gemm m=16 n=32 k=64 dtype=bf16/a \"gemm\""}])j";
  EXPECT_GT(recognise_nsys(json, "x.json"), 50);
  const auto rows = read_nsys(json, "x.json", nsys_on_h100());
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 4e-6);
}

TEST(ImportNsys, mistakes_name_the_line) {
  const std::string header = "Some text\nTime (%),Total Time (ns),Instances,Med (ns),Name\n";
  EXPECT_EQ(read_nsys(header + "1,2,3\n", "x.csv", {}).error().where, "x.csv:3");
  EXPECT_EQ(read_nsys(header + "1,fast,3,4,k\n", "x.csv", {}).error().where, "x.csv:3");
  EXPECT_EQ(read_nsys(header + "1,-5,3,4,k\n", "x.csv", {}).error().where, "x.csv:3");
  EXPECT_EQ(read_nsys(header + "1,5,0,4,k\n", "x.csv", {}).error().where, "x.csv:3");
  EXPECT_THAT(
      read_nsys(header + "1,5,1,4,gemm m=1 n=1 k=1 dtype=bf16/gemm\n", "x.csv", {}).error().hint, HasSubstr("--gpu"));
  EXPECT_FALSE(read_nsys("nothing here\n", "x.csv", {}).has_value());
  EXPECT_FALSE(read_nsys("[{\"a\": 1}", "x.json", {}).has_value());
  EXPECT_FALSE(read_nsys("[1, 2]", "x.json", {}).has_value());
}

}  // namespace
}  // namespace stepcast::calibrate
