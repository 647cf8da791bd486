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
  std::ofstream(few)
      << R"({"framework":"a","version":"1","device":"NVIDIA H200","op_name":"gdn","phase":"context",)"
      << R"("kernel_source":"causal_conv1d_fn","batch_size":1,"seq_len":8,"num_k_heads":1,"head_k_dim":8,)"
      << R"("num_v_heads":1,"head_v_dim":8,"d_conv":4,"latency":1})";
  EXPECT_THAT(error(few), HasSubstr("among 0 rows of scans, 1 of convolutions"));
  EXPECT_THAT(error("/no/such/table.jsonl"), HasSubstr("/no/such/table.jsonl"));
}

/// 4 widths of 5 batches of 8 lengths: 4 us, and 2 TB/s. `told`: whether rows say which channels were timed.
std::string convolution_table(const std::string& release, bool told) {
  const std::string path = own_path("convolution" + release + ".jsonl");
  std::ofstream file(path);
  for (int heads = 4; heads <= 32; heads *= 2)
    for (int batch = 1; batch <= 16; batch *= 2)
      for (int length = 64; length <= 8192; length *= 2)
        file << fmt::format(
            R"({{"framework":"VLLM","version":"{}","device":"NVIDIA H200","op_name":"gdn","d_conv":4,)"
            R"("kernel_source":"causal_conv1d_fn","phase":"context","batch_size":{},"seq_len":{},"num_k_heads":1,)"
            R"("head_k_dim":128,"num_v_heads":{},"head_v_dim":128,"latency":{}}})"
            "\n",
            release, batch, length, heads, 0.004 + 4.0 * batch * length * ((told ? heads : 4) + 2) * 128 / 2e12 * 1e3);
  return path;
}

TEST(CalibrateScans, ConvolutionsHaveLawsOfPrompts) {
  const std::string profile = own_path("convolution.json"), table = convolution_table("1.0", true);
  const auto ran = run_line("calibrate scans --json " + table + " --id convolution --force -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_TRUE(json["laws"].empty());
  ASSERT_EQ(json["convolutions"].size(), 1U);
  const auto& law = json["convolutions"][0];
  EXPECT_EQ(law["function"], "conv");
  EXPECT_EQ(law["shapes"], 160);
  EXPECT_LT(law["held_out_mape"], 0.05);
  std::ifstream file(profile);
  const auto written = nlohmann::json::parse(file);
  int own = 0;
  for (const auto& scan : written["scans"])
    own += scan["function"] == "conv" && scan.value("software", "") == "vllm 1.0 gated_delta causal_conv1d_fn";
  EXPECT_EQ(own, 1);
  EXPECT_EQ(run_line("calibrate show " + profile).code, 0);
  EXPECT_THAT(run_line("calibrate scans " + table).out, HasSubstr("h200-sxm  conv         vllm 1.0 gated_delta"));
  EXPECT_THAT(
      run_line("calibrate scans " + table + " " + convolution_table("2.0", true) + " --force -o " + profile).err,
      HasSubstr("two laws of conv"));
}

TEST(CalibrateScans, TimesOfOtherConvolutionsAreLeftOut) {
  const auto alone = run_line("calibrate scans " + convolution_table("3.0", false));
  EXPECT_THAT(alone.err, HasSubstr("160 of convolutions"));
  const auto beside =
      run_line("calibrate scans " + convolution_table("3.0", false) + " " + convolution_table("1.0", true));
  EXPECT_THAT(beside.out, HasSubstr("left out: 160 rows of gated_delta causal_conv1d_fn, vllm 3.0 on h200-sxm"));
}

/// Both parts of 17 numbers of positions and two widths: 10 us, and the bytes of two sublayers at 3 TB/s.
std::string mixing_table(const std::string& release) {
  const std::string path = own_path("mixing" + release + ".jsonl");
  std::ofstream file(path);
  for (const char* part : {"pre", "post"})
    for (const int width : {4096, 7168})
      for (int positions = 1; positions <= 65536; positions *= 2)
        file << fmt::format(
            R"({{"framework":"VLLM","version":"{}","device":"NVIDIA H200","op_name":"{}","kernel_source":"mhc",)"
            R"("num_tokens":{},"num_sites":2,"hc_mult":4,"hidden_size":{},"sinkhorn_iters":20,"latency":{}}})"
            "\n",
            release, part, positions, width, 0.01 + 2 * 18.0 * positions * width / 3e12 * 1e3);
  return path;
}

TEST(CalibrateScans, HyperConnectionsHaveLawsOfBothParts) {
  const std::string profile = own_path("mixing.json"), table = mixing_table("1.0");
  const auto ran = run_line("calibrate scans --json " + table + " --id mixing --force -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_TRUE(json["laws"].empty());
  ASSERT_EQ(json["hyper_connections"].size(), 2U);
  for (const auto& law : json["hyper_connections"]) {
    EXPECT_EQ(law["shapes"], 34);
    EXPECT_LT(law["held_out_mape"], 0.05);
    EXPECT_NEAR(law["memory_bytes_per_s"].get<double>() / 3e12, 1, 0.1);
  }
  std::ifstream file(profile);
  const auto written = nlohmann::json::parse(file);
  int own = 0;
  for (const auto& law : written["hyper_connections"]) own += law.value("kernels", "") == "vllm";
  EXPECT_EQ(own, 2);
  EXPECT_EQ(run_line("calibrate show " + profile).code, 0);
  EXPECT_THAT(run_line("calibrate scans " + table).out, HasSubstr("h200-sxm  pre   vllm 1.0"));
  EXPECT_THAT(run_line("calibrate scans " + table + " " + mixing_table("2.0") + " --force -o " + profile).err,
      HasSubstr("two laws of pre: vllm 1.0 and vllm 2.0"));
}

/// Tables that are too short for a law are named, and their rows count nowhere.
TEST(CalibrateScans, TablesOfTooFewShapesAreNamed) {
  const std::string profile = own_path("mixing.json"), few = own_path("few.jsonl");
  std::ofstream file(few);
  for (const int positions : {1, 2, 4})
    file << fmt::format(
        R"({{"framework":"VLLM","version":"0.9","device":"NVIDIA H200","op_name":"pre","kernel_source":"mhc",)"
        R"("num_tokens":{},"num_sites":2,"hc_mult":4,"hidden_size":4096,"sinkhorn_iters":20,"latency":0.02}})"
        "\n",
        positions);
  file.close();
  const std::string line = "calibrate scans " + mixing_table("1.0") + " " + few;
  EXPECT_THAT(run_line(line).out, HasSubstr("left out: 3 rows of pre of vllm 0.9 on h200-sxm, of 3 shapes"));
  const auto ran = run_line(line + " --json --id mixing --force -o " + profile);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto left = nlohmann::json::parse(ran.out).at("left_out");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].at("rows"), 3);
  EXPECT_EQ(left[0].at("release"), "0.9");
  std::ifstream written(profile);
  EXPECT_THAT(nlohmann::json::parse(written).at("context").get<std::string>(), HasSubstr("fitted on 68 rows"));
}

}  // namespace
}  // namespace stepcast::calibration
