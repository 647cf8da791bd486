// stepcast calibrate scans: tables in, laws with held-out errors out; the profile is read again.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

/// 5 batches of 8 lengths: 20 us, and 0.1 us for each state and chunk of 64.
std::string table(const std::string& engine, const std::string& release) {
  const std::string path = own_path(engine + release + ".jsonl");
  std::ofstream file(path);
  for (int batch = 1; batch <= 16; batch *= 2)
    for (int length = 64; length <= 8192; length *= 2)
      file << fmt::format(
          R"({{"framework":"{}","version":"{}","device":"NVIDIA H200","op_name":"gdn","kernel_source":"chunk_rule",)"
          R"("phase":"context","batch_size":{},"seq_len":{},"num_k_heads":16,"head_k_dim":128,"num_v_heads":32,)"
          R"("head_v_dim":128,"latency":{}}})"
          "\n",
          engine, release, batch, length, 0.02 + 1e-4 * 32 * batch * length / 64);
  return path;
}

TEST(CalibrateScans, LawsAreOfKernelsAndTheirErrorsAreOfShapesHeldOut) {
  const auto ran = run_line("calibrate scans --json " + table("vLLM", "1.0") + " " + table("SGLang", "2.0"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  ASSERT_EQ(json["laws"].size(), 2U);
  EXPECT_EQ(json["laws"][0]["engine"], "sglang");
  EXPECT_EQ(json["laws"][0]["gpu"], "h200-sxm");
  EXPECT_EQ(json["laws"][0]["shapes"], 40);
  EXPECT_LT(json["laws"][0]["held_out_mape"], 0.1);
  EXPECT_EQ(json["laws"][0]["held_out_mape"], json["laws"][1]["held_out_mape"]);
  const auto text = run_line("calibrate scans " + table("vLLM", "1.0"));
  EXPECT_THAT(text.out, HasSubstr("h200-sxm  gated_delta  vllm 1.0 chunk_rule"));
}

TEST(CalibrateScans, AProfileHoldsThemAndIsReadAgain) {
  const std::string profile = own_path("profile.json");
  const auto ran = run_line("calibrate scans " + table("vLLM", "1.0") + " --id mine --force -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(profile);
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["id"], "mine");
  int own = 0;
  for (const auto& law : json["scans"]) own += law["function"] == "gated_delta" && law.value("kernels", "") == "vllm";
  EXPECT_EQ(own, 1);
  EXPECT_EQ(run_line("calibrate show " + profile).code, 0);
}

TEST(CalibrateScans, WhatNoProfileCanHoldIsRefused) {
  const auto error = [](const std::string& line) { return run_line("calibrate scans " + line).err; };
  const std::string into = " --force -o " + own_path("none.json");
  EXPECT_THAT(error(table("vLLM", "1.0") + " " + table("vLLM", "2.0") + into), HasSubstr("two laws of gated_delta"));
  EXPECT_THAT(error(table("mine", "1.0") + into), HasSubstr("no profile holds scans of 'mine'"));
  EXPECT_THAT(error(table("vLLM", "1.0") + " --id x"), HasSubstr("none is written"));
  const std::string few = own_path("few.jsonl");
  std::ofstream(few) << R"({"framework":"a","version":"1","device":"NVIDIA H200","op_name":"gdn","phase":"context",)"
                     << R"("kernel_source":"causal_conv1d_fn","latency":1})";
  EXPECT_THAT(error(few), HasSubstr("among 0 rows of scans, 1 of convolutions"));
  EXPECT_THAT(error("/no/such/table.jsonl"), HasSubstr("/no/such/table.jsonl"));
}

}  // namespace
}  // namespace stepcast::calibration
