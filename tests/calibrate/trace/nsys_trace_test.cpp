#include "calibrate/trace/nsys_trace.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace stepcast::calibrate::nsys_trace_test {
namespace {

/// A database of these statements in a file of the test's own.
std::string database_of(const std::string& name, const std::string& sql) {
  const std::string path = testing::TempDir() + "stepcast_nsys_trace_" + name + ".sqlite";
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

TEST(NsysTrace, HoldsBothGpusOfAReport) {
  // Two processes whose correlations are alike: 0x1000000 and 0x2000000; the thread's own number stands below.
  const std::string path = database_of("both", std::string(tables) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 7, 5, 0x1000000, 1),
      (2000, 2500, 1, 7, 5, 0x2000000, 2);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4000, 4500, 0, 7, 6, 0x1000000);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 600, 0x1000003, 5, 3), (900, 950, 0x2000004, 5, 3),
      (5000, 15000, 0x1000003, 9, 4);)");
  const auto traces = read_nsys_database(path);
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

TEST(NsysTrace, RefusesOtherDatabases) {
  const auto other = read_nsys_database(database_of("other", "CREATE TABLE Wages (name, amount);"));
  ASSERT_FALSE(other);
  EXPECT_THAT(to_text(other.error()), testing::HasSubstr("without CUPTI_ACTIVITY_KIND_KERNEL"));
  const auto empty = read_nsys_database(database_of("empty", tables));
  ASSERT_FALSE(empty);
  EXPECT_THAT(to_text(empty.error()), testing::HasSubstr("without a kernel"));
}

}  // namespace
}  // namespace stepcast::calibrate::nsys_trace_test
