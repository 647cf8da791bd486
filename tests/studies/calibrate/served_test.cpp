// Benchmarks' outputs as records: what they do not say is asked for, and what comes out is read by validate.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/records/record.h"
#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

std::string output() {
  const std::string path = own_path("bench.json");
  std::ofstream(path) << R"({"backend": "vllm", "model_id": "Qwen/Qwen3-8B", "num_prompts": 40, "request_rate": "inf",
 "max_concurrency": 4, "completed": 40, "total_input_tokens": 40000, "total_output_tokens": 4000,
 "request_throughput": 2.0, "output_throughput": 400.0, "mean_ttft_ms": 80.5, "mean_tpot_ms": 9.0, "mean_itl_ms": 9.0})";
  return path;
}

TEST(CalibrateServed, RecordsAreReadByValidate) {
  const std::string records = own_path("records.json");
  const auto ran = run_line(
      "calibrate served " + output() + " --machine dgx-h100 --tp 1 --release 0.10 --json --force -o " + records);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(infer::looks_like_inference(ran.out));
  const auto read = infer::read_inference(ran.out, "records");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->front().model, "qwen3-8b");
  EXPECT_EQ(read->front().weights, "bf16");
  EXPECT_EQ(read->front().prompt, 1000);
  EXPECT_EQ(read->front().output, 100);
  EXPECT_EQ(read->front().concurrency, 4);
  const auto judged = run_line("validate --json " + records);
  ASSERT_EQ(judged.code, 0) << judged.err;
  const auto report = nlohmann::json::parse(judged.out);
  ASSERT_EQ(report["cases"].size(), 1u) << judged.out;
  EXPECT_EQ(report["cases"][0]["measured"], 9.0);
  // a word of an 8 B network in bf16 takes at least 16 GB / 3.35 TB/s = 4.9 ms, and no engine takes four times as long
  EXPECT_GT(report["cases"][0]["predicted"], 4.9);
  EXPECT_LT(report["cases"][0]["predicted"], 20.0);
}

TEST(CalibrateServed, WhatIsNotToldIsAskedFor) {
  const auto error = [](const std::string& flags) { return run_line("calibrate served " + output() + flags).err; };
  EXPECT_THAT(error(""), HasSubstr("--machine"));
  EXPECT_THAT(error(" --machine dgx-h100 --tp 1"), HasSubstr("--release"));
  EXPECT_THAT(error(" --machine dgx-h100 --release 0.10"), HasSubstr("--tp"));
  EXPECT_THAT(error(" --machine dgx-h100 --release 0.10 --tp 1 --concurrency 8"), HasSubstr("8 here, and 4 in"));
  EXPECT_THAT(error(" --machine dgx-h100 --release 0.10 --tp 1 --engine llamacpp"), HasSubstr("engine"));
  EXPECT_THAT(error(" --machine dgx-h100 --release 0.10 --tp 1 --input 512"), HasSubstr("512 here, and 1000 in"));
  EXPECT_THAT(
      error(" --machine dgx-h100 --release 0.10 --tp 1 --output-tokens 128"), HasSubstr("128 here, and 100 in"));
  EXPECT_EQ(error(" --machine dgx-h100 --release 0.10 --tp 1 --input 1010"), "") << "within 2 %";
  EXPECT_THAT(error(" --machine dgx-h100 --release 0.10 --tp 4 --ep 8"), HasSubstr("experts on 8 ranks of 4"));
  EXPECT_THAT(error(" " + output() + " --machine dgx-h100 --release 0.10 --tp 1"), HasSubstr("the same file twice"));
  EXPECT_EQ(run_line("calibrate served " + own_path("none.json") + " --machine dgx-h100").code, 2);
}

}  // namespace
}  // namespace stepcast::calibration
