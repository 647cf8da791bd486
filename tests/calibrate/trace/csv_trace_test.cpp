#include "calibrate/trace/csv_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate::csv_trace_test {
namespace {

using testing::HasSubstr;

Expected<std::vector<RankTrace>> read(const std::string& text) {
  TimingsStream stream("trace.csv", std::string_view(text));
  return read_trace_table(stream);
}
std::string error_of(const std::string& text) {
  const auto traces = read(text);
  return traces ? "" : to_text(traces.error());
}

constexpr const char* nsys_head = "Start (ns),Duration (ns),CorrId,GrdX,Bytes (MB),Device,Ctx,GreenCtx,Strm,Name\n";
constexpr const char* rocprof_head =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";

/// Two GPUs; a name with a comma stands in quotes.
TEST(TraceTables, OfNsightSystems) {
  const auto traces =
      read(std::string(nsys_head) + "1000,2500,7,64,,NVIDIA H100 80GB HBM3 (0),1,,7,\"void a_gemm<float, 2>(int)\"\n"
                                    "4000,1000,8,,0.5,NVIDIA H100 80GB HBM3 (0),1,,7,[CUDA memcpy Host-to-Device]\n"
                                    "1000,500,9,1,,NVIDIA H100 80GB HBM3 (1),1,,7,ncclDevKernel_AllReduce_Sum\n");
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->size(), 2U);
  const RankTrace& first = traces->front();
  EXPECT_EQ(first.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(first.tool, "Nsight Systems");
  ASSERT_EQ(first.events.size(), 2U);
  EXPECT_EQ(first.names[0], "void a_gemm<float, 2>(int)");
  EXPECT_DOUBLE_EQ(first.events[0].start, 1);
  EXPECT_DOUBLE_EQ(first.events[0].end, 3.5);
  EXPECT_EQ(first.events[0].stream, 7);
  EXPECT_EQ(first.events[1].kind, WorkKind::memcpy);
  EXPECT_EQ((*traces)[1].events[0].kind, WorkKind::communication);
}

TEST(TraceTables, TimesHaveTheUnitOfTheirColumn) {
  const auto traces = read("Start (us),Duration (ms),CorrId,Device,Strm,Name\n10,2,1,GPU (0),7,a_gemm\n");
  ASSERT_TRUE(traces) << to_text(traces.error());
  EXPECT_DOUBLE_EQ(traces->front().events[0].start, 10);
  EXPECT_DOUBLE_EQ(traces->front().events[0].end, 2010);
}

TEST(TraceTables, OfRocprof) {
  const auto traces =
      read(std::string(rocprof_head) + "\"KERNEL_DISPATCH\",\"Agent 4\",2,\"Cijk_Alik_Bljk_BBS\",5,2000,6000\n");
  ASSERT_TRUE(traces) << to_text(traces.error());
  EXPECT_EQ(traces->front().tool, "rocprofv3");
  EXPECT_EQ(traces->front().device, 4);
  EXPECT_EQ(traces->front().events[0].kind, WorkKind::gemm);
  EXPECT_DOUBLE_EQ(traces->front().events[0].end, 6);
  // rocprof of before says when a kernel was asked for
  const auto old = read("\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"DispatchNs\",\"BeginNs\",\"EndNs\"\n"
                        "0,\"attn_fwd.kd\",2,0,500,1000,3000\n");
  ASSERT_TRUE(old) << to_text(old.error());
  EXPECT_EQ(old->front().tool, "rocprof");
  EXPECT_DOUBLE_EQ(old->front().launch_of(old->front().events[0]), 0.5);
}

TEST(TraceTables, WhatIsNoTraceIsRefused) {
  EXPECT_TRUE(is_trace_table(nsys_head));
  EXPECT_FALSE(is_trace_table("m,n,k,time_us\n1,2,3,4\n"));
  EXPECT_THAT(error_of(nsys_head), HasSubstr("without a row"));
  EXPECT_THAT(error_of(std::string(nsys_head) + "1000,2500,7\n"), HasSubstr("trace.csv:2"));
  EXPECT_THAT(error_of("Start (us),Duration (ms),CorrId,Device,Strm,Name\n10,2,1,GPU (0),7,a<1, 2>\n"),
      HasSubstr("the row has 7 fields, and the header 6"));
  EXPECT_THAT(error_of(std::string(nsys_head) + "x,2500,7,64,,G (0),1,,7,a\n"), HasSubstr("the start"));
  EXPECT_THAT(error_of(std::string(rocprof_head) + "K,4,2,a,5,2000,1000\n"), HasSubstr("ends before it starts"));
  EXPECT_THAT(error_of("a,b\n"), HasSubstr("without the columns"));
}

}  // namespace
}  // namespace stepcast::calibrate::csv_trace_test
