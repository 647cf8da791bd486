// Importers on tables of a few lines.
#include "calibrate/import_csv.h"

#include <gtest/gtest.h>

#include "calibrate/csv.h"

namespace stepcast {
namespace {

TEST(Csv, quoted_fields_and_windows_line_ends) {
  const auto table = CsvTable::parse("a,b\r\n1,\"x,y\"\r\n\r\n2,z\r\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->text(0, 1), "x,y");
  EXPECT_EQ(*table->number(1, 0), 2);
  EXPECT_EQ(table->where(1), "t.csv:4");
}

TEST(Csv, mistakes_name_file_and_line) {
  EXPECT_EQ(CsvTable::parse("", "t.csv").error().what, "empty table");
  EXPECT_EQ(CsvTable::parse("a,b\n1\n", "t.csv").error().where, "t.csv:2");
  const auto table = CsvTable::parse("size,time\n1,fast\n2,\n3,nan\n4,5us\n", "t.csv");
  for (std::size_t row = 0; row < 4; ++row) EXPECT_FALSE(table->number(row, 1).has_value()) << row;
  EXPECT_EQ(table->number(0, 1).error().where, "t.csv:2");
  EXPECT_NE(table->column("tme").error().hint.find("time"), std::string::npos);
}

TEST(ImportGemm, one_column_of_many_and_its_gaps) {
  const char* text = "m,n,k,old_us,new_us\n512,1024,2048,100,50\n1024,1024,1024,80,\n";
  const auto gemms = import_gemm(text, "g.csv", "new_us", 1, true);
  ASSERT_TRUE(gemms.has_value());
  ASSERT_EQ(gemms->size(), 1u);
  EXPECT_DOUBLE_EQ((*gemms)[0].k, 2048);
  EXPECT_DOUBLE_EQ((*gemms)[0].time.value(), 50e-6);
  EXPECT_TRUE((*gemms)[0].casts_x);
  EXPECT_EQ(import_gemm(text, "g.csv", "old_us")->size(), 2u);
  EXPECT_FALSE(import_gemm(text, "g.csv", "newer_us").has_value());
  EXPECT_FALSE(import_gemm("m,n,k,a_us\n0,1,1,5\n", "g.csv", "a_us").has_value());
}

TEST(ImportAttention, rows_of_one_collection_without_prefix) {
  const char* text =
      "batch_size,isl,step,num_heads,num_key_value_heads,head_dim,time_us,collection\n"
      "2,1024,0,8,8,128,70,x\n2,1024,5,8,8,128,90,x\n2,1024,0,8,8,64,40,x\n2,1024,0,8,8,128,60,y\n";
  const auto rows = import_attention(text, "a.csv", "x", 128);
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_DOUBLE_EQ((*rows)[0].time.value(), 70e-6);
  EXPECT_EQ(import_attention(text, "a.csv", "z", 128).error().where, "a.csv");
}

TEST(ImportAttention, published_rates_become_times) {
  const char* text = "gpu,impl,pass,head_dim,causal,seqlen,tflops,source\nG,F,fwd+bwd,128,1,16384,100,s\nG,F,fwd,128,0,512,1,s\n";
  const auto rows = import_attention_rates(text, "f.csv", "G", "F", 128);
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 1u);
  // One sequence of 16384, 16 heads of 128: 2 x 2048 x 16384^2 FLOPs forward, 3.5 times that in all, at 100 TFLOP/s.
  EXPECT_NEAR((*rows)[0].time.value(), 3.5 * 2 * 2048 * 16384.0 * 16384 / 100e12, 1e-12);
  EXPECT_EQ((*rows)[0].pass, AttentionPass::forward_and_backward);
}

TEST(ImportPointwise, counts_operands) {
  const char* text = "op,B,H,device,time_us,dtype\nadd,10,100,G,5,fp32\naddu,10,100,G,4,fp32\n";
  const auto rows = import_pointwise(text, "n.csv", "G", {"add", "addu"});
  ASSERT_TRUE(rows.has_value());
  EXPECT_DOUBLE_EQ((*rows)[0].bytes.value(), 12000);
  EXPECT_DOUBLE_EQ((*rows)[1].bytes.value(), 8000);
  EXPECT_FALSE(import_pointwise(text, "n.csv", "G", {"gelu"}).has_value());
}

TEST(ImportNcclTable, buffer_sizes_become_bytes_received) {
  const char* text =
      "system,data_dir,op,dtype,num_gpus,elements,bytes,latency_ms\n"
      "s,d,all_reduce,half,8,4000,8000,0.02\ns,d,all_gather,half,4,4000,8000,0.01\ns,d,alltoall,int8,4,8000,8000,0.01\n";
  const auto calls = import_nccl_table(text, "c.csv", "s", "half");
  ASSERT_TRUE(calls.has_value());
  ASSERT_EQ(calls->size(), 2u);
  EXPECT_DOUBLE_EQ((*calls)[0].received.value(), 6000);   // all_gather: 3/4
  EXPECT_DOUBLE_EQ((*calls)[1].received.value(), 14000);  // all_reduce: 2 x 7/8
  EXPECT_DOUBLE_EQ((*calls)[1].time.value(), 20e-6);
  EXPECT_FALSE(import_nccl_table(text, "c.csv", "t", "half").has_value());
}

TEST(ImportNetworkProfile, nodes_from_ranks_per_node) {
  const char* text = "sku,collective,num_workers,devices_per_node,bytes,median_ms\nk,send_recv,2,1,1000,0.05\nk,all_reduce,16,8,1000,0.1\n";
  const auto calls = import_network_profile(text, "v.csv", "k");
  ASSERT_TRUE(calls.has_value());
  EXPECT_EQ((*calls)[0].nodes, 2);
  EXPECT_EQ((*calls)[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ((*calls)[1].nodes, 2);
  EXPECT_DOUBLE_EQ((*calls)[1].received.value(), 1000);
}

TEST(ImportNcclTests, rows_of_every_layout_among_other_lines) {
  const char* text =
      "# nThread 1 nGpus 2\n"
      "NCCL INFO 12 Channels 24 : 0.1 0.2 0.3\n"
      "           0             0     float     sum      -1     5.00    0.00    0.00      0     5.00    0.00    0.00      0\n"
      "        1024           256     float     sum      -1    12.25    0.08    0.16      0    12.00    0.09    0.17      0\n"
      "        2048           512     float     sum    62648    0.03    0.06    5e-07    62000    0.03    0.06    5e-07\n"
      "        4096          1024     float            20.43    0.20    0.40    0e+00    20.11    0.20    0.40      N/A\n"
      "        8192          2048     float       0    30.00    0.27    0.27    0e+00    30.00    0.27    0.27    0e+00\n"
      "# Avg bus bandwidth    : 2.05\n";
  const auto calls = import_nccl_tests(text, "log.txt", CollectiveKind::all_reduce, 4, 1);
  ASSERT_TRUE(calls.has_value());
  ASSERT_EQ(calls->size(), 4u);
  EXPECT_DOUBLE_EQ((*calls)[0].received.value(), 1536);  // 2 x 3/4
  EXPECT_NEAR((*calls)[0].time.value(), 12.25e-6, 1e-15);
  EXPECT_NEAR((*calls)[1].time.value(), 62648e-6, 1e-12);
  EXPECT_NEAR((*calls)[2].time.value(), 20.43e-6, 1e-15);
  EXPECT_NEAR((*calls)[3].time.value(), 30e-6, 1e-15);
  EXPECT_EQ(import_nccl_tests("nothing here\n", "log.txt", CollectiveKind::all_reduce, 2).error().where, "log.txt");
}

}  // namespace
}  // namespace stepcast
