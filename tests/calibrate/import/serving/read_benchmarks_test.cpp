// Outputs of benchmarks of serving engines: what is read of each tool, and what is refused.
#include "calibrate/import/serving/read_benchmarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

/// 100 requests of 1000 and 200 positions, 16 at once.
const std::string vllm = R"({"date": "20260801-120000", "backend": "vllm", "model_id": "Qwen/Qwen3-8B",
 "num_prompts": 100, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 16, "duration": 50.0,
 "completed": 100, "total_input_tokens": 100000, "total_output_tokens": 20000, "request_throughput": 2.0,
 "output_throughput": 400.0, "mean_ttft_ms": 80.5, "p99_ttft_ms": 200.0, "mean_tpot_ms": 12.5, "mean_itl_ms": 12.4})";

std::string error_of(const std::string& text) {
  const auto read = read_benchmark_output(text, "out.json");
  return read ? "" : to_text(read.error());
}

TEST(BenchmarkOutput, VllmBenchServe) {
  const auto read = read_benchmark_output(vllm, "out.json");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->size(), 1u);
  const BenchmarkOutput& run = read->front();
  EXPECT_EQ(run.tool, "vllm bench");
  EXPECT_EQ(run.engine, "vllm");
  EXPECT_EQ(run.model, "Qwen/Qwen3-8B");
  EXPECT_EQ(run.concurrency, 16);
  EXPECT_FALSE(run.rate);  // inf
  EXPECT_EQ(run.input, 1000);
  EXPECT_EQ(run.output, 200);
  EXPECT_EQ(run.measured.at("tpot_ms"), 12.5);
  EXPECT_EQ(run.measured.at("ttft_p99_ms"), 200);
  EXPECT_EQ(run.measured.at("output_tokens_per_s"), 400);
}

TEST(BenchmarkOutput, SglangWritesALineForEachRun) {
  const std::string line =
      R"({"backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": null, "random_range_ratio": 1.0, "completed": 10, "total_input_tokens": 5000, "total_output_tokens": 1000, "request_throughput": 3.9, "output_throughput": 390.0, "mean_ttft_ms": 50.0, "mean_tpot_ms": 8.0, "mean_itl_ms": 8.1, "mean_e2e_latency_ms": 850.0})";
  const auto read = read_benchmark_output(line + "\n" + line + "\n", "out.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at(1).tool, "sglang bench");
  EXPECT_EQ(read->at(1).rate, 4);
  EXPECT_FALSE(read->at(1).concurrency);
  EXPECT_EQ(read->at(1).measured.at("e2e_ms"), 850);
}

TEST(BenchmarkOutput, TrtllmBenchTellsItsSplit) {
  const auto read =
      read_benchmark_output(R"({"engine": {"model": "nvidia/Llama-3.1-8B-Instruct-FP8", "backend": "Pytorch",
   "dtype": "bfloat16", "kv_cache_dtype": "FP8", "quantization": "FP8"},
   "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": null, "world_size": 2, "max_batch_size": 512, "max_num_tokens": 4096},
   "request_info": {"num_requests": 300, "avg_num_concurrent_requests": 250.5, "avg_input_length": 128.0, "avg_output_length": 128.0},
   "performance": {"request_throughput_req_s": 50.0, "system_output_throughput_tok_s": 6400.0,
    "output_throughput_per_gpu_tok_s": 3200.0, "avg_request_latency_ms": 5000.0}})",
          "report.json");
  ASSERT_TRUE(read) << to_text(read.error());
  const BenchmarkOutput& run = read->front();
  EXPECT_EQ(run.tp, 2);
  EXPECT_FALSE(run.ep);
  EXPECT_EQ(run.requests, 300);
  EXPECT_EQ(run.weights, "FP8");
  EXPECT_EQ(run.measured.at("output_tokens_per_s"), 6400);
}

TEST(BenchmarkOutput, GenAiPerfAndAiPerf) {
  const auto read = read_benchmark_output(R"({"request_throughput": {"unit": "requests/sec", "avg": 2.0},
   "request_latency": {"unit": "ms", "avg": 900.0, "p99": 1000.0}, "time_to_first_token": {"unit": "ms", "avg": 60.0},
   "inter_token_latency": {"unit": "ms", "avg": 9.0, "p50": 8.9}, "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0},
   "request_count": {"unit": "requests", "avg": 40.0}, "input_sequence_length": {"unit": "tokens", "avg": 550.0},
   "output_sequence_length": {"unit": "tokens", "avg": 100.0},
   "input_config": {"endpoint": {"model_names": ["Qwen/Qwen3-8B"]}, "loadgen": {"concurrency": 2}}})",
      "aiperf.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->front().tool, "aiperf");
  EXPECT_EQ(read->front().model, "Qwen/Qwen3-8B");
  EXPECT_EQ(read->front().concurrency, 2);
  EXPECT_EQ(read->front().measured.at("tpot_ms"), 9);
  const auto table = read_benchmark_output("Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"
                                           "Time To First Token (ms),60.50,1,2,90,3,80,4,55,5\n"
                                           "Inter Token Latency (ms),9.00,1,2,12,3,11,4,8.9,5\n"
                                           "Output Sequence Length (tokens),100.00,1,2,3,4,5,6,7,8\n"
                                           "Input Sequence Length (tokens),550.00,1,2,3,4,5,6,7,8\n\n"
                                           "Metric,Value\n"
                                           "Output Token Throughput (tokens/sec),\"1,234.50\"\n"
                                           "Request Throughput (per sec),12.30\n",
      "perf.csv");
  ASSERT_TRUE(table) << to_text(table.error());
  EXPECT_EQ(table->front().measured.at("ttft_ms"), 60.5);
  EXPECT_EQ(table->front().measured.at("ttft_p90_ms"), 80);
  EXPECT_EQ(table->front().measured.at("output_tokens_per_s"), 1234.5);
  EXPECT_EQ(table->front().input, 550);
}

TEST(BenchmarkOutput, WrongAndTruncatedFiles) {
  EXPECT_THAT(error_of(""), HasSubstr("an empty file"));
  EXPECT_THAT(error_of("hello"), HasSubstr("output of no benchmark"));
  EXPECT_THAT(error_of("{}"), HasSubstr("an object of no benchmark"));
  EXPECT_THAT(error_of("[]"), HasSubstr("an empty list"));
  EXPECT_THAT(error_of(vllm.substr(0, vllm.size() / 2)), HasSubstr("no JSON, or cut off"));
  std::string failed = vllm;
  failed.replace(failed.find("\"completed\": 100"), 16, "\"completed\": 90");
  EXPECT_THAT(error_of(failed), HasSubstr("90 of 100 requests ended"));
  std::string text = vllm;
  text.replace(text.find("12.5"), 4, "\"x\"");
  EXPECT_THAT(error_of(text), HasSubstr("mean_tpot_ms: no number"));
  std::string nothing = vllm;
  nothing.replace(nothing.find("12.5"), 4, "0.0");
  EXPECT_THAT(error_of(nothing), HasSubstr("tpot_ms is 0"));
  const std::string header = "Metric,avg,min,max\n";
  EXPECT_THAT(error_of(header + "Time To First Token (ms),6"), HasSubstr("out.json:2: 2 cells"));
  EXPECT_THAT(error_of(header + "Time To First Token (ms),six,1,2\n"), HasSubstr("'six' under avg"));
  EXPECT_THAT(error_of(header), HasSubstr("no figure of the load"));
}

}  // namespace
}  // namespace stepcast::calibrate
