#include "calibrate/trace/sql_trace.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace stepcast::calibrate::sql_trace_test {
namespace {

/// A database of these statements in a file of the test's own.
std::string database_of(const std::string& name, const std::string& sql) {
  const std::string path = testing::TempDir() + "stepcast_sql_trace_" + name + ".sqlite";
  std::remove(path.c_str());
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return path;
}

constexpr const char* tables = R"(
  CREATE TABLE StringIds (id INTEGER, value TEXT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
  INSERT INTO StringIds VALUES (1, 'flash_fwd_kernel'), (2, 'ncclDevKernel_SendRecv(x)'),
    (3, 'cudaLaunchKernel_v7000'), (4, 'cudaStreamSynchronize_v3020');)";

TEST(SqlTrace, HoldsBothGpusOfAReport) {
  // Two processes whose correlations are alike: 0x1000000 and 0x2000000; the thread's own number stands below.
  const std::string path = database_of("both", std::string(tables) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 7, 5, 0x1000000, 1),
      (2000, 2500, 1, 7, 5, 0x2000000, 2);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4000, 4500, 0, 7, 6, 0x1000000);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 600, 0x1000003, 5, 3), (900, 950, 0x2000004, 5, 3),
      (5000, 15000, 0x1000003, 9, 4);)");
  const auto traces = read_sql_trace(path);
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->size(), 2U);
  const RankTrace& first = traces->at(0);
  ASSERT_EQ(first.events.size(), 2U);
  EXPECT_EQ(first.events[0].kind, WorkKind::attention);
  EXPECT_EQ(first.events[0].start, 1);
  EXPECT_EQ(first.events[0].end, 3);
  EXPECT_EQ(first.launch_of(first.events[0]), 0.5);
  EXPECT_EQ(first.launched_at(first.events[0]), 0.6);
  ASSERT_EQ(first.calls.size(), 1U);
  EXPECT_EQ(first.calls[0].kind, HostCallKind::synchronisation);
  EXPECT_EQ(first.calls[0].end, 15);
  EXPECT_EQ(first.events[1].kind, WorkKind::memcpy);
  const RankTrace& second = traces->at(1);
  EXPECT_EQ(second.launch_of(second.events[0]), 0.9);
  EXPECT_EQ(second.collectives.at(0).kind, "send_recv");
}

/// Ranges that a program pushes, and clocks that Nsight samples: of GPU 0, the second one in Hz.
TEST(SqlTrace, NvtxRangesAndClocks) {
  const auto traces = read_sql_trace(database_of("nvtx", std::string(tables) + R"(
    CREATE TABLE NVTX_EVENTS (start, end, text, textId);
    CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
    CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);
    INSERT INTO StringIds VALUES (9, 'Optimizer.step#Adam.step');
    INSERT INTO NVTX_EVENTS VALUES (0, 9000, 'iteration 3', NULL), (7000, 8000, NULL, 9), (1, NULL, 'open', NULL);
    INSERT INTO TARGET_INFO_GPU_METRICS VALUES (0x5600, 1, 'GPC Clock Frequency [MHz]'), (0x5600, 2, 'SMs Active');
    INSERT INTO GPU_METRICS VALUES (2000, 0x5600, 1, 1500), (2500, 0x5600, 1, 1400000000), (2600, 0x5600, 2, 99),
      (9000, 0x5600, 1, 300), (2700, 0x5600, 1, 1450);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 7, 5, 0x1000000, 1);)"));
  ASSERT_TRUE(traces) << to_text(traces.error());
  const RankTrace& trace = traces->front();
  ASSERT_EQ(trace.marks.size(), 2U);
  EXPECT_EQ(trace.marks[0].number, 3);
  EXPECT_EQ(trace.marks[1].kind, MarkKind::optimizer);
  EXPECT_EQ(trace.clocks.size(), 4U);
  EXPECT_EQ(trace.clock_mhz(1, 3), 1450);
}

/// The views of rocprofv3's database, as tables: agents count GPUs and CPUs, devices GPUs alone.
TEST(SqlTrace, RocprofsDatabase) {
  const auto traces = read_sql_trace(database_of("rocpd", R"(
    CREATE TABLE rocpd_kernel_dispatch (id); CREATE TABLE rocpd_memory_copy (id); CREATE TABLE rocpd_region (id);
    CREATE TABLE rocpd_info_agent (type_index, product_name, type);
    CREATE TABLE kernels (start, end, name, agent_type_index, stream_id, stack_id, pid);
    CREATE TABLE memory_copies (start, end, name, dst_agent_type, dst_agent_type_index, src_agent_type_index, stream_id,
      stack_id, pid);
    CREATE TABLE regions (start, end, name, stack_id, pid);
    INSERT INTO rocpd_info_agent VALUES (0, 'AMD EPYC', 'CPU'), (1, 'AMD Instinct MI300X', 'GPU');
    INSERT INTO kernels VALUES (5000, 9000, 'Cijk_Alik_Bljk', 1, 2, 44, 100);
    INSERT INTO memory_copies VALUES (9500, 9900, 'MEMORY_COPY_DEVICE_TO_HOST', 'CPU', 0, 1, 2, 45, 100);
    INSERT INTO regions VALUES (1000, 2000, 'hipLaunchKernel', 44, 100);)"));
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->size(), 1U);
  const RankTrace& trace = traces->front();
  EXPECT_EQ(trace.tool, "rocprofv3");
  EXPECT_EQ(trace.gpu, "AMD Instinct MI300X");
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events[0].kind, WorkKind::gemm);
  EXPECT_EQ(trace.launched_at(trace.events[0]), 2);
  EXPECT_EQ(trace.events[1].kind, WorkKind::memcpy);
}

TEST(SqlTrace, RefusesOtherDatabases) {
  const auto other = read_sql_trace(database_of("other", "CREATE TABLE Wages (name, amount);"));
  ASSERT_FALSE(other);
  EXPECT_THAT(to_text(other.error()), testing::HasSubstr("without CUPTI_ACTIVITY_KIND_KERNEL"));
  const auto empty = read_sql_trace(database_of("empty", tables));
  ASSERT_FALSE(empty);
  EXPECT_THAT(to_text(empty.error()), testing::HasSubstr("without a kernel"));
}

}  // namespace
}  // namespace stepcast::calibrate::sql_trace_test
