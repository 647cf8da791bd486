// nvbench's JSON in small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

std::string nvbench_state(const std::string& axes, const std::string& summaries, const char* skipped = "false") {
  return fmt::format(R"({{"name": "s", "device": 0, "is_skipped": {}, "axis_values": [{}], "summaries": [{}]}})",
      skipped, axes, summaries);
}
std::string nvbench_axis(const char* name, const char* value) {
  return fmt::format(R"({{"name": "{}", "type": "int64", "value": "{}"}})", name, value);
}
std::string nvbench_summary(const char* tag, const char* value) {
  return fmt::format(
      R"({{"tag": "{}", "hint": "duration", "data": [{{"name": "value", "type": "float64", "value": "{}"}}]}})", tag,
      value);
}
std::string nvbench_file(
    const std::string& benchmark, const std::string& states, const char* device = "NVIDIA H100 80GB HBM3") {
  return fmt::format(
      R"({{"meta": {{"version": {{"nvbench": {{"string": "0.1"}}}}}}, "devices": [{{"id": 0, "name": "{}"}}],
"benchmarks": [{{"name": "{}", "index": 0, "states": [{}]}}]}})",
      device, benchmark, states);
}

const std::string gemm_axes = nvbench_axis("M", "128") + "," + nvbench_axis("N", "256") + "," +
                              nvbench_axis("K", "512") + "," + nvbench_axis("dtype", "bf16");

TEST(ImportNvbench, axes_name_a_gemm) {
  const std::string text =
      nvbench_file("my_gemm", nvbench_state(gemm_axes, nvbench_summary("nv/cold/time/gpu/mean", "2e-05") + "," +
                                                           nvbench_summary("nv/cold/sample_size", "500")) +
                                  "," + nvbench_state(gemm_axes, "", "true"));
  EXPECT_GT(recognise_nvbench(text, "x.json"), 50);
  const auto rows = read_nvbench(text, "x.json", {});
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  ASSERT_EQ(rows->rows.size(), 1u);
  const auto& gemm = std::get<GemmQuery>(rows->rows[0].what);
  EXPECT_EQ(gemm.m, 128);
  EXPECT_EQ(gemm.k, 512);
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 2e-5);
  EXPECT_EQ(rows->rows[0].repeats, 500);
  EXPECT_EQ(rows->contexts[0].gpu, "h100-sxm");
  EXPECT_THAT(rows->notes, testing::Contains(HasSubstr("1 skipped")));
}

TEST(ImportNvbench, the_median_before_the_mean_and_quartiles) {
  const auto rows = read_nvbench(
      nvbench_file("g", nvbench_state(gemm_axes, nvbench_summary("nv/cold/time/gpu/mean", "9e-05") + "," +
                                                     nvbench_summary("nv/cold/time/gpu/median", "5e-05") + "," +
                                                     nvbench_summary("nv/cold/time/gpu/q1", "4e-05") + "," +
                                                     nvbench_summary("nv/cold/time/gpu/q3", "6e-05"))),
      "x.json", {});
  ASSERT_TRUE(rows.has_value());
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 5e-5);
  EXPECT_DOUBLE_EQ(rows->rows[0].low.value(), 4e-5);
  EXPECT_DOUBLE_EQ(rows->rows[0].high.value(), 6e-5);
}

TEST(ImportNvbench, an_operator_named_by_the_benchmark_or_the_map) {
  const std::string time = nvbench_summary("nv/cold/time/gpu/mean", "1e-05"),
                    axes = nvbench_axis("Elements{io}", "1048576") + "," + nvbench_axis("T{ct}", "F32");
  const auto named = read_nvbench(nvbench_file("copy", nvbench_state(axes, time)), "x.json", {});
  ASSERT_TRUE(named.has_value()) << to_text(named.error());
  EXPECT_EQ(std::get<MemoryQuery>(named->rows[0].what).op->id, "copy");
  EXPECT_EQ(bytes_of(std::get<MemoryQuery>(named->rows[0].what)), Bytes(8.0 * 1048576));
  ImportOptions options;
  options.kind = "copy";
  options.columns = {{"elements", "Size"}};
  options.precision = "fp32";
  EXPECT_TRUE(read_nvbench(nvbench_file("b", nvbench_state(nvbench_axis("Size", "1024"), time)), "x.json", options)
                  .has_value());
}

TEST(ImportNvbench, mistakes_say_where) {
  const auto error_of = [](const std::string& text) {
    const auto rows = read_nvbench(text, "x.json", {});
    EXPECT_FALSE(rows.has_value()) << text;
    return rows ? std::string() : to_text(rows.error());
  };
  const std::string time = nvbench_summary("nv/cold/time/gpu/mean", "1e-05");
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(gemm_axes, nvbench_summary("nv/cold/time/gpu/mean", "0")))),
      HasSubstr("/benchmarks/0/states/0"));
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(gemm_axes, nvbench_summary("nv/cold/time/gpu/mean", "soon")))),
      HasSubstr("'soon'"));
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(gemm_axes, ""))), HasSubstr("no summary of GPU time"));
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(nvbench_axis("X", "1"), time))),
      HasSubstr("nothing says what was timed"));
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(gemm_axes, time), "GPU 9000")), HasSubstr("list gpus"));
  EXPECT_THAT(error_of(nvbench_file("g", nvbench_state(gemm_axes, time)).substr(0, 200)), HasSubstr("x.json:"));
  EXPECT_THAT(error_of("{\"devices\": []}"), HasSubstr("benchmarks"));
  EXPECT_FALSE(read_nvbench("\x01\x02", "x.json", {}).has_value());
}

}  // namespace
}  // namespace stepcast::calibrate
