#include "calibrate/trace/trace_file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate::trace_file_test {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "stepcast_trace_file_" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  const auto traces = read_trace_file(path);
  return traces ? "" : to_text(traces.error());
}

TEST(TraceFile, ForeignFilesAreNamed) {
  EXPECT_THAT(error_of("report", "NSRP and more"), HasSubstr("nsys export --type sqlite"));
  EXPECT_THAT(error_of("zstd", "\x28\xB5\x2F\xFD and more"), HasSubstr("zstd"));
  EXPECT_THAT(error_of("page", "<html>"), HasSubstr("a page or XML"));
  EXPECT_THAT(error_of("empty", ""), HasSubstr("is empty"));
  EXPECT_THAT(
      error_of("cut.gz", std::string("\x1F\x8B\x08\x00\x00\x00\x00\x00\x00\x03\x4B", 11)), HasSubstr("breaks off"));
  EXPECT_THAT(error_of("database", std::string("SQLite format 3\0 and no more", 28)), HasSubstr("SQLite says"));
  EXPECT_THAT(error_of("text", "step 1: 0.3 s\n"), HasSubstr("at byte"));
  const auto folder = read_trace_file(testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_THAT(to_text(folder.error()), HasSubstr("is a folder"));
  EXPECT_FALSE(read_trace_file("/there/is/no/such.json"));
}

}  // namespace
}  // namespace stepcast::calibrate::trace_file_test
