// Traces of PyTorch's profiler in small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

std::string torch_op_event(int id, const char* name, const char* dims, const char* types, const char* values = "[]") {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "ts": 1, "dur": 9, 
"args": {{"External id": {}, "Input Dims": {}, "Input type": {}, "Concrete Inputs": {}}}}})",
      name, id, dims, types, values);
}
std::string kernel_event(int id, const char* name, double us, const char* more = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "ts": 5, "dur": {}, 
"args": {{"External id": {}, "grid": [8, 1, 1], "block": [128, 1, 1]{}}}}})",
      name, us, id, more);
}
std::string kineto_file(const std::string& events, int world_size = 2) {
  return fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3"}},
{{"id": 1, "name": "NVIDIA H100 80GB HBM3"}}],
"distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": {}}}, "traceEvents": [{}]}})",
      world_size, events);
}
constexpr const char* two_bf16 = R"(["c10::BFloat16", "c10::BFloat16"])";

Measurements kineto_rows(const std::string& events) {
  const auto rows = read_kineto(kineto_file(events), "t.json", {});
  EXPECT_TRUE(rows.has_value()) << (rows ? "" : to_text(rows.error()));
  return rows.value_or(Measurements{});
}

TEST(ImportKineto, products_take_their_shape_from_the_operator) {
  const Measurements rows = kineto_rows(
      torch_op_event(1, "aten::mm", "[[128, 64], [64, 256]]", two_bf16) + "," +
      kernel_event(1, "sm90_gemm_bf16_nn", 10) + "," +
      torch_op_event(2, "aten::addmm", "[[256], [128, 64], [64, 256]]", R"(["float", "float", "float"])") + "," +
      kernel_event(2, "ampere_sgemm_32x32_tn", 20) + "," + kernel_event(2, "splitKreduce_kernel", 5) + "," +
      torch_op_event(3, "aten::bmm", "[[4, 128, 64], [4, 64, 32]]", two_bf16) + "," + kernel_event(3, "g", 3) + "," +
      torch_op_event(4, "aten::linear", "[[2, 64, 16], [48, 16], []]", two_bf16) + "," + kernel_event(4, "g", 3));
  ASSERT_EQ(rows.rows.size(), 4u);
  const auto& mm = std::get<GemmQuery>(rows.rows[0].what);
  EXPECT_EQ(mm.m, 128);
  EXPECT_EQ(mm.n, 256);
  EXPECT_EQ(mm.k, 64);
  EXPECT_EQ(mm.layout, GemmLayout::nn);
  EXPECT_DOUBLE_EQ(rows.rows[0].time.value(), 10e-6);
  EXPECT_EQ(std::get<GemmQuery>(rows.rows[1].what).precision, Precision::fp32);
  EXPECT_DOUBLE_EQ(rows.rows[1].time.value(), 25e-6);  // both kernels of the call
  EXPECT_EQ(std::get<GemmQuery>(rows.rows[2].what).batch, 4);
  EXPECT_EQ(std::get<GemmQuery>(rows.rows[3].what).m, 128);
  EXPECT_EQ(std::get<GemmQuery>(rows.rows[3].what).n, 48);
  EXPECT_EQ(rows.contexts[0].gpu, "h100-sxm");
}

TEST(ImportKineto, scaled_products_know_their_scales) {
  const char* types = R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float"])";
  const Measurements rows = kineto_rows(
      torch_op_event(1, "aten::_scaled_mm", "[[128, 512], [512, 256], [], []]", types) + "," + kernel_event(1, "g", 3) +
      "," + torch_op_event(2, "aten::_scaled_mm", "[[128, 512], [512, 256], [128, 4], [4, 2]]", types) + "," +
      kernel_event(2, "g", 3));
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(std::get<GemmQuery>(rows.rows[0].what).precision, Precision::fp8);
  EXPECT_FALSE(std::get<GemmQuery>(rows.rows[0].what).block_scaled);
  EXPECT_TRUE(std::get<GemmQuery>(rows.rows[1].what).block_scaled);
}

TEST(ImportKineto, attention_in_both_orders_of_its_dimensions) {
  const Measurements rows = kineto_rows(
      torch_op_event(1, "aten::_flash_attention_forward", "[[2, 1024, 16, 128], [2, 1024, 4, 128], [2, 1024, 4, 128]]",
          two_bf16, R"(["", "", "", "", "", "1024", "1024", "0.", "True", "False"])") +
      "," + kernel_event(1, "flash_fwd_kernel", 100) + "," +
      torch_op_event(2, "aten::_scaled_dot_product_flash_attention",
          "[[2, 16, 512, 64], [2, 16, 512, 64], [2, 16, 512, 64]]", two_bf16,
          R"(["", "", "", "0.", "False", "False"])") +
      "," + kernel_event(2, "flash_fwd_kernel", 50) + "," +
      torch_op_event(3, "aten::_scaled_dot_product_flash_attention",
          "[[2, 16, 512, 64], [2, 16, 512, 64], [2, 16, 512, 64]]", two_bf16) +
      "," + kernel_event(3, "flash_fwd_kernel", 50));
  ASSERT_EQ(rows.rows.size(), 2u);
  const auto& grouped = std::get<AttentionQuery>(rows.rows[0].what);
  EXPECT_EQ(grouped.queries, 1024);
  EXPECT_EQ(grouped.heads, 16);
  EXPECT_EQ(grouped.kv_heads, 4);
  EXPECT_TRUE(grouped.causal);
  const auto& full = std::get<AttentionQuery>(rows.rows[1].what);
  EXPECT_EQ(full.queries, 512);
  EXPECT_FALSE(full.causal);
  EXPECT_THAT(rows.notes, testing::Contains(HasSubstr("whether it is causal")));
}

TEST(ImportKineto, memory_bound_operators) {
  const Measurements rows = kineto_rows(
      torch_op_event(1, "aten::add", "[[64, 128], [64, 128], []]", two_bf16) + "," + kernel_event(1, "e", 3) + "," +
      torch_op_event(2, "aten::mul", "[[64, 128], []]", R"(["float", "Scalar"])") + "," + kernel_event(2, "e", 3) +
      "," +
      torch_op_event(3, "aten::native_layer_norm", "[[2, 64, 128], [], [128], [128], []]", R"(["c10::BFloat16"])") +
      "," + kernel_event(3, "e", 3));
  ASSERT_EQ(rows.rows.size(), 3u);
  EXPECT_EQ(std::get<MemoryQuery>(rows.rows[0].what).op->id, "add");
  EXPECT_EQ(std::get<MemoryQuery>(rows.rows[1].what).op->id, "add-scalar");
  EXPECT_EQ(std::get<MemoryQuery>(rows.rows[1].what).element_bytes, 4);
  EXPECT_EQ(std::get<MemoryQuery>(rows.rows[2].what).rows, 128);
}

TEST(ImportKineto, collectives_by_the_whole_buffer) {
  const char* gather =
      R"(, "Collective name": "_allgather_base", "In msg nelems": 1024, "Out msg nelems": 2048,
 "Group size": 2, "dtype": "BFloat16")";
  const char* reduce =
      R"(, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
 "Group size": 2, "dtype": "Float")";
  const std::string events = kernel_event(1, "ncclDevKernel_AllGather_RING_LL", 30, gather) + "," +
                             kernel_event(2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, reduce);
  const Measurements rows = kineto_rows(events);
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(std::get<CollectiveQuery>(rows.rows[0].what).kind, CollectiveKind::all_gather);
  EXPECT_EQ(std::get<CollectiveQuery>(rows.rows[0].what).bytes, Bytes(4096));
  EXPECT_EQ(std::get<CollectiveQuery>(rows.rows[1].what).bytes, Bytes(4096));
  EXPECT_EQ(rows.contexts[0].fabric, "nvswitch");
  EXPECT_THAT(rows.notes, testing::Contains(HasSubstr("waiting for the last rank")));
  // Sixteen ranks on machines of two GPUs: the file does not say how a group of two lies.
  const auto spread = read_kineto(kineto_file(events, 16), "t.json", {});
  ASSERT_FALSE(spread.has_value());
  EXPECT_THAT(spread.error().hint, HasSubstr("--nodes"));
  ImportOptions two;
  two.nodes = 2;
  EXPECT_EQ(std::get<CollectiveQuery>(read_kineto(kineto_file(events, 16), "t.json", two)->rows[0].what).nodes, 2);
}

TEST(ImportKineto, kernels_without_shape_are_noted_with_their_share) {
  const Measurements rows =
      kineto_rows(torch_op_event(1, "aten::mm", "[[8, 8], [8, 8]]", two_bf16) + "," + kernel_event(1, "gemm", 10) +
                  "," + torch_op_event(2, "aten::sort", "[[8]]", two_bf16) + "," + kernel_event(2, "sort_kernel", 60) +
                  "," + kernel_event(99, "lonely_kernel", 30) + "," + kernel_event(98, "void_kernel", 0));
  EXPECT_EQ(rows.rows.size(), 1u);
  EXPECT_THAT(rows.notes,
      testing::UnorderedElementsAre(AllOf(HasSubstr("60.0 %"), HasSubstr("sort_kernel")),
          AllOf(HasSubstr("30.0 %"), HasSubstr("lonely_kernel")), HasSubstr("1 kernels without a duration")));
}

TEST(ImportKineto, kernels_may_come_before_operators_and_devices_last) {
  const std::string events =
      kernel_event(1, "gemm", 10) + "," + torch_op_event(1, "aten::mm", "[[8, 8], [8, 8]]", two_bf16);
  const auto rows = read_kineto("{\"other\": {\"deviceProperties\": 1}, \"traceEvents\": [" + events +
                                    R"(], "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]})",
      "t.json", {});
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  EXPECT_EQ(rows->rows.size(), 1u);
  EXPECT_EQ(rows->contexts[0].gpu, "h100-sxm");
}

TEST(ImportKineto, the_device_is_the_one_that_ran_the_kernels) {
  const auto read = [](const std::string& devices, const std::string& gpu) {
    ImportOptions options;
    options.context.gpu = gpu;
    return read_kineto("{\"deviceProperties\": [" + devices + "], \"traceEvents\": [" +
                           torch_op_event(1, "aten::mm", "[[8, 8], [8, 8]]", two_bf16) + "," +
                           kernel_event(1, "gemm", 10, ", \"device\": 1") + "]}",
        "t.json", options);
  };
  const std::string h100 = R"({"id": 1, "name": "NVIDIA H100 80GB HBM3"})", t4 = R"({"id": 0, "name": "Tesla T4"})",
                    gb10 = R"({"id": 1, "name": "NVIDIA GB10"})";
  EXPECT_EQ(read(t4 + "," + h100, "")->contexts[0].gpu, "h100-sxm");
  const auto other = read(gb10, "h100-sxm");
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(to_text(other.error()), AllOf(HasSubstr("NVIDIA GB10"), HasSubstr("h100-sxm")));
  EXPECT_THAT(to_text(read(h100, "a100-80gb").error()), AllOf(HasSubstr("h100-sxm"), HasSubstr("a100-80gb")));
}

TEST(ImportKineto, mistakes_say_what_is_missing) {
  const auto error_of = [](const std::string& text) {
    const auto rows = read_kineto(text, "t.json", {});
    EXPECT_FALSE(rows.has_value()) << text;
    return rows ? std::string() : to_text(rows.error());
  };
  const std::string mm = torch_op_event(1, "aten::mm", "[[8, 8], [8, 8]]", two_bf16);
  EXPECT_THAT(error_of(kineto_file(mm)), HasSubstr("no kernels"));
  EXPECT_THAT(error_of(kineto_file(mm).substr(0, 150)), HasSubstr("no JSON, or not all of it"));
  EXPECT_THAT(error_of("{\"traceEvents\": 5}"), HasSubstr("traceEvents"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no kernels"));
  EXPECT_THAT(error_of(kineto_file(kernel_event(1, "gemm", 1))), HasSubstr("record_shapes"));
  EXPECT_THAT(error_of("{\"traceEvents\": [" + mm + "," + kernel_event(1, "gemm", 1) + "]}"), HasSubstr("--gpu"));
  EXPECT_THAT(error_of(kineto_file(R"({"ph": "X", "cat": "kernel", "name": "k"})")), HasSubstr("no duration"));
  EXPECT_THAT(error_of(kineto_file(
                  torch_op_event(1, "aten::mm", "[[8, 7], [8, 8]]", two_bf16) + "," + kernel_event(1, "gemm", 1))),
      HasSubstr("none with its shape"));
}

}  // namespace
}  // namespace stepcast::calibrate
