// Google Benchmark's JSON in small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

std::string benchmark_line(const char* name, double time, const char* unit, const char* aggregate = "") {
  const std::string type = *aggregate == 0
                               ? R"("run_type": "iteration")"
                               : fmt::format(R"("run_type": "aggregate", "aggregate_name": "{}")", aggregate);
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", {1}, "repetitions": 3, "iterations": 10,
          "real_time": {2}, "cpu_time": 1, "time_unit": "{3}"}})",
      name, type, time, unit);
}
std::string benchmark_file(
    const std::string& lines, const char* context = R"("host_name": "node7", "date": "2026-01-02")") {
  return fmt::format(R"({{"context": {{{}}}, "benchmarks": [{}]}})", context, lines);
}
ImportOptions on_h100() {
  ImportOptions options;
  options.context.gpu = "h100-sxm";
  return options;
}

TEST(ImportGoogleBenchmark, arguments_in_the_name) {
  const std::string text =
      benchmark_file(benchmark_line("gemm/m:128/n:4096/k:1024/dtype:bf16/manual_time", 20, "us") + "," +
                     benchmark_line("BM_softmax<half>/rows:64/columns:512/dtype:fp16", 3000, "ns"));
  EXPECT_GT(recognise_google_benchmark(text, "x.json"), 50);
  const auto rows = read_google_benchmark(text, "x.json", on_h100());
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  ASSERT_EQ(rows->rows.size(), 2u);
  EXPECT_EQ(std::get<GemmQuery>(rows->rows[0].what).n, 4096);
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 20e-6);
  EXPECT_EQ(std::get<MemoryQuery>(rows->rows[1].what).op->id, "softmax");
  EXPECT_DOUBLE_EQ(rows->rows[1].time.value(), 3e-6);
  EXPECT_EQ(rows->contexts[0].machine, "node7");
}

TEST(ImportGoogleBenchmark, repetitions_become_their_median) {
  const char* name = "gemm/m:1/n:2/k:4/dtype:bf16";
  const std::string runs =
      benchmark_line(name, 5, "us") + "," + benchmark_line(name, 3, "us") + "," + benchmark_line(name, 10, "us");
  const auto rows = read_google_benchmark(benchmark_file(runs), "x.json", on_h100());
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 5e-6);
  EXPECT_DOUBLE_EQ(rows->rows[0].low.value(), 3e-6);
  EXPECT_DOUBLE_EQ(rows->rows[0].high.value(), 10e-6);
  EXPECT_EQ(rows->rows[0].repeats, 3);
  const std::string aggregates = benchmark_line(name, 7, "us", "mean") + "," + benchmark_line(name, 6, "us", "median") +
                                 "," + benchmark_line(name, 1, "us", "stddev");
  const auto only = read_google_benchmark(benchmark_file(aggregates), "x.json", on_h100());
  ASSERT_TRUE(only.has_value());
  EXPECT_DOUBLE_EQ(only->rows[0].time.value(), 6e-6);
  EXPECT_EQ(only->rows[0].repeats, 3);
}

TEST(ImportGoogleBenchmark, the_gpu_of_a_custom_context) {
  const auto rows = read_google_benchmark(
      benchmark_file(benchmark_line("gemm/m:1/n:2/k:4/dtype:bf16", 5, "ms"), R"("gpu": "NVIDIA L40S")"), "x.json", {});
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  EXPECT_EQ(rows->contexts[0].gpu, "l40s");
}

TEST(ImportGoogleBenchmark, mistakes_say_where) {
  const auto error_of = [](const std::string& text, const ImportOptions& options) {
    const auto rows = read_google_benchmark(text, "x.json", options);
    EXPECT_FALSE(rows.has_value()) << text;
    return rows ? std::string() : to_text(rows.error());
  };
  const char* name = "gemm/m:1/n:2/k:4/dtype:bf16";
  EXPECT_THAT(error_of(benchmark_file(benchmark_line(name, 0, "us")), on_h100()), HasSubstr("/benchmarks/0/real_time"));
  EXPECT_THAT(error_of(benchmark_file(benchmark_line(name, 5, "min")), on_h100()), HasSubstr("unit 'min'"));
  EXPECT_THAT(error_of(benchmark_file(benchmark_line("sort/1024", 5, "us")), on_h100()), HasSubstr("sort/1024"));
  EXPECT_THAT(
      error_of(benchmark_file(benchmark_line("gemm/m:1/n:0/k:4/dtype:bf16", 5, "us")), on_h100()), HasSubstr("n = 0"));
  EXPECT_THAT(error_of(benchmark_file(benchmark_line(name, 5, "us")), {}), HasSubstr("--gpu"));
  EXPECT_THAT(error_of(benchmark_file(benchmark_line(name, 5, "us")).substr(0, 120), on_h100()), HasSubstr("x.json:"));
  EXPECT_THAT(error_of("{\"context\": {}}", on_h100()), HasSubstr("benchmarks"));
}

}  // namespace
}  // namespace stepcast::calibrate
