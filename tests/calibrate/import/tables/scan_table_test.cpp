// Tables of engines' scans: rows of prompts by their columns, what else is in them is counted, what is wrong is named.
#include "calibrate/import/tables/scan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

std::string line(const std::string& op, const std::string& kernel, const std::string& phase, const std::string& rest) {
  return R"({"framework":"vLLM","version":"1.0","device":"NVIDIA H100 80GB HBM3","op_name":")" + op +
         R"(","kernel_source":")" + kernel + R"(","phase":")" + phase + R"(",)" + rest + "}\n";
}
const std::string sizes =
    R"("batch_size":2,"seq_len":4096,"num_k_heads":16,"head_k_dim":128,"num_v_heads":32,"head_v_dim":128,"d_conv":4,"latency":0.5)";

std::string scan_refusal(const std::string& text) {
  const auto read = read_scan_table(text, "t.jsonl");
  return read ? "" : to_text(read.error());
}

TEST(ScanTable, RowsOfPromptsAreReadAndOthersCounted) {
  const auto read =
      read_scan_table(line("gdn", "chunk_rule", "context", sizes) + line("gdn", "causal_conv1d_fn", "context", sizes) +
                          "\n" + line("gdn", "recurrent_rule", "generation", sizes),
          "t.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->rows.size(), 1U);
  EXPECT_EQ(read->convolutions.size(), 1U);
  EXPECT_EQ(read->other_phases, 1);
  const ScanTiming& row = read->rows.front();
  EXPECT_EQ(row.gpu, "h100-sxm");
  EXPECT_EQ(row.engine, "vllm");
  EXPECT_EQ(row.kernel, "chunk_rule");
  EXPECT_STREQ(row.shape.function->name, "gated_delta");
  EXPECT_EQ(row.shape.heads, 32);
  EXPECT_EQ(row.shape.groups, 16);
  EXPECT_EQ(row.shape.sequences, 2);
  EXPECT_EQ(row.shape.positions, 4096);
  EXPECT_DOUBLE_EQ(row.time.value(), 0.5e-3);
}

TEST(ScanTable, ATableWithoutScansIsNoError) {
  const auto read = read_scan_table(line("gdn", "causal_conv1d_fn", "context", sizes), "t.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_TRUE(read->rows.empty());
  EXPECT_EQ(read->convolutions.size(), 1U);
}

TEST(ScanTable, ConvolutionsAreOfPromptsAndOfWords) {
  const auto read = read_scan_table(line("gdn", "causal_conv1d_fn", "context", sizes) +
                                        line("gdn", "causal_conv1d_update", "generation", sizes) +
                                        line("gdn", "causal_conv1d_update", "verify", sizes) +
                                        line("mamba2", "causal_conv1d_fn", "context",
                                            R"("batch_size":1,"seq_len":8,"nheads":64,"head_dim":64,"n_groups":8,)"
                                            R"("d_state":128,"d_conv":4,"latency":0.02)"),
      "t.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->other_phases, 1);
  ASSERT_EQ(read->convolutions.size(), 3U);
  const ConvolutionTiming& row = read->convolutions.front();
  EXPECT_EQ(row.gpu, "h100-sxm");
  EXPECT_EQ(row.engine, "vllm");
  EXPECT_EQ(row.kernel, "gated_delta causal_conv1d_fn");
  EXPECT_EQ(row.function, prompt_convolution);
  EXPECT_EQ(row.shape.sequences, 2);
  EXPECT_EQ(row.shape.positions, 4096);
  EXPECT_EQ(row.shape.channels, (2 * 16 + 32) * 128);
  EXPECT_EQ(row.shape.taps, 4);
  EXPECT_DOUBLE_EQ(row.time.value(), 0.5e-3);
  EXPECT_EQ(read->convolutions[1].function, word_convolution);
  EXPECT_EQ(read->convolutions[2].shape.channels, 64 * 64 + 2 * 8 * 128);
}

TEST(ScanTable, MambaHasColumnsOfItsOwn) {
  const auto read = read_scan_table(line("mamba2", "mamba_chunk_scan_combined", "context",
                                        R"("batch_size":1,"seq_len":8,"nheads":64,"head_dim":64,"n_groups":8,)"
                                        R"("d_state":128,"chunk_size":256,"latency":0.02)"),
      "t.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_STREQ(read->rows.front().shape.function->name, "ssd");
  EXPECT_EQ(read->rows.front().shape.value_size, 64);
  EXPECT_EQ(read->rows.front().shape.key_size, 128);
}

TEST(ScanTable, ErrorsNameTheLine) {
  const std::string good = line("gdn", "chunk_rule", "context", sizes);
  EXPECT_THAT(scan_refusal(good + line("mix", "mix", "context", sizes)), HasSubstr("t.jsonl:2:/op_name"));
  EXPECT_THAT(scan_refusal(good + line("pre", "mix", "context", sizes)), HasSubstr("t.jsonl:2:/num_tokens"));
  EXPECT_THAT(scan_refusal(good + "{\"op_name\": \"gdn\"}\n"), HasSubstr("t.jsonl:2:/phase"));
  EXPECT_THAT(
      scan_refusal(line("gdn", "chunk_rule", "context", "\"batch_size\":0,\"latency\":1")), HasSubstr("batch_size"));
  EXPECT_THAT(scan_refusal(line("gdn", "chunk_rule", "context", "\"latency\":-1")), HasSubstr("latency"));
  std::string device = good;
  device.replace(device.find("H100 80GB HBM3"), 14, "Q900");
  EXPECT_THAT(scan_refusal(device), HasSubstr("no GPU of the catalogue is 'NVIDIA Q900'"));
  EXPECT_THAT(scan_refusal("m,n,k\n1,2,3\n"), HasSubstr("t.jsonl:1"));
}

std::string mixing(const std::string& part, const std::string& rest) {
  return R"({"framework":"TRTLLM","version":"1.3","device":"NVIDIA B200","op_name":")" + part +
         R"(","kernel_source":"trtllm_mhc","num_tokens":512,"hc_mult":4,"hidden_size":7168,)" + rest + "}\n";
}

TEST(ScanTable, ARowOfHyperConnectionsHoldsTwoSublayers) {
  const auto read =
      read_scan_table(mixing("pre", R"("num_sites":2,"sinkhorn_iters":20,"latency":0.05)") +
                          mixing("post", R"("latency":0.03)") + mixing("post", R"("num_sites":1,"latency":0.03)"),
          "t.jsonl");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_TRUE(read->rows.empty());
  ASSERT_EQ(read->hyper_connections.size(), 3U);
  const HyperConnectionTiming& row = read->hyper_connections[0];
  EXPECT_EQ(row.gpu, "b200-sxm");
  EXPECT_EQ(row.engine, "trtllm");
  EXPECT_EQ(row.shape.part, HyperConnectionPart::pre);
  EXPECT_EQ(row.shape.positions, 512);
  EXPECT_EQ(row.shape.streams, 4);
  EXPECT_EQ(row.shape.width, 7168);
  EXPECT_DOUBLE_EQ(row.time.value(), 0.025e-3);
  EXPECT_EQ(read->hyper_connections[1].shape.part, HyperConnectionPart::post);
  EXPECT_DOUBLE_EQ(read->hyper_connections[1].time.value(), 0.015e-3);
  EXPECT_DOUBLE_EQ(read->hyper_connections[2].time.value(), 0.03e-3);
}

TEST(ScanTable, RoundsThatNobodyElseTimedAreRefused) {
  EXPECT_THAT(scan_refusal(mixing("pre", R"("sinkhorn_iters":3,"latency":0.05)")), HasSubstr("3 rounds"));
  EXPECT_THAT(scan_refusal(mixing("pre", R"("latency":0)")), HasSubstr("t.jsonl:1:/latency"));
}

}  // namespace
}  // namespace stepcast::calibrate
