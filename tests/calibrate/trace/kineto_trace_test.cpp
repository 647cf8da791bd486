#include "calibrate/trace/kineto_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate::kineto_trace_test {
namespace {

using testing::HasSubstr;

Expected<std::vector<RankTrace>> read(const std::string& text) {
  TimingsStream stream("trace.json", std::string_view(text));
  return read_kineto_trace(stream);
}

std::string error_of(const std::string& text) {
  const auto traces = read(text);
  return traces ? "" : to_text(traces.error());
}

constexpr const char* head = R"({"distributedInfo": {"rank": 3, "world_size": 8},
 "deviceProperties": [{"id": 0, "name": "GPU A"}], "traceEvents": [)";
constexpr const char* kernel =
    R"({"ph": "X", "cat": "kernel", "name": "some_gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 2,
 "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 2, 3]}})";

TEST(KinetoTrace, HoldsKernelsLaunchesAndMarks) {
  const auto traces = read(std::string(head) + kernel + R"(,
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 4, "dur": 1, "args": {"correlation": 5}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#17", "ts": 1, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 2, "dur": 9},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "ts": 12, "dur": 4, "args": {"device": 0,
     "stream": 9, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Group size": 8,
     "dtype": "BFloat16"}}]})");
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->size(), 1U);
  const RankTrace& trace = traces->front();
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world, 8);
  EXPECT_EQ(trace.gpu, "GPU A");
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events[0].start, 10.5);
  EXPECT_EQ(trace.events[0].end, 12.5);
  EXPECT_EQ(trace.events[0].kind, WorkKind::gemm);
  EXPECT_EQ(trace.launch_of(trace.events[0]), 4);
  EXPECT_LT(trace.launch_of(trace.events[1]), 0);
  ASSERT_EQ(trace.marks.size(), 1U);
  EXPECT_EQ(trace.marks[0].number, 17);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0], (CalledCollective{"all_reduce", 8, 200, ""}));
}

/// Shapes stand at the operator, whichever comes first; a kernel that adds up what it left has none.
TEST(KinetoTrace, ProductsHaveTheShapesOfTheirOperators) {
  const auto traces = read(R"([
    {"ph": "X", "cat": "kernel", "name": "a_gemm", "ts": 1, "dur": 2, "args": {"device": 0, "External id": 4}},
    {"ph": "X", "cat": "kernel", "name": "splitKreduce", "ts": 3, "dur": 1, "args": {"device": 0, "External id": 4}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 0, "dur": 1, "args": {"External id": 4,
     "Input Dims": [[640], [888, 2880], [2880, 640], [], []], "Input type": ["c10::BFloat16"]}}])");
  ASSERT_TRUE(traces) << to_text(traces.error());
  const RankTrace& trace = traces->front();
  ASSERT_EQ(trace.shapes.size(), 1U);
  EXPECT_EQ(trace.shapes[0], (TracedShape{888, 640, 2880, 1}));
  EXPECT_EQ(trace.events[0].shape, 0);
  EXPECT_EQ(trace.events[1].shape, -1);
}

TEST(KinetoTrace, CategoriesOfOlderProfilersCountToo) {
  const auto traces = read(R"([{"ph": "X", "cat": "Kernel", "name": "volta_sgemm_128x64_tn", "pid": 0, "tid": 7,
    "ts": 1, "dur": 2}, {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 3, "dur": 2}])");
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->front().events.size(), 2U);
  EXPECT_EQ(traces->front().events[1].kind, WorkKind::memcpy);
}

TEST(KinetoTrace, RefusesWhatIsNoTrace) {
  EXPECT_THAT(error_of(std::string(head) + kernel), HasSubstr("breaks off"));
  EXPECT_THAT(error_of(R"({"schemaVersion": 1})"), HasSubstr("traceEvents"));
  EXPECT_THAT(error_of(std::string(head) + "]}"), HasSubstr("none of them is of a GPU"));
  EXPECT_THAT(error_of(std::string(head) + R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -2}]})"),
      HasSubstr("no duration"));
  EXPECT_THAT(
      error_of(std::string(head) + R"({"ph": "X", "cat": "kernel", "name": "k", "dur": 2}]})"), HasSubstr("no start"));
  EXPECT_THAT(error_of(std::string(300, '[')), HasSubstr("nest too deeply"));
}

}  // namespace
}  // namespace stepcast::calibrate::kineto_trace_test
