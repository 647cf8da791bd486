#include "calibrate/trace/clock_table.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate::clock_table_test {
namespace {

auto read(const std::string& text) {
  const std::string path = testing::TempDir() + "stepcast_clock_table.csv";
  std::ofstream(path) << text;
  return read_clock_table(path);
}
std::string error_of(const std::string& text) {
  const auto clocks = read(text);
  return clocks ? "" : to_text(clocks.error());
}

TEST(ClockTable, WhatNvidiaSmiSamples) {
  const auto clocks = read("timestamp, index, clocks.current.sm [MHz], utilization.gpu [%]\n"
                           "2026/11/01 12:00:00.100, 0, 1410 MHz, 99 %\n"
                           "2026/11/01 12:00:00.100, 1, 1980 MHz, 100 %\n"
                           "2026/11/01 12:00:00.200, 0, 345 MHz, 0 %\n"
                           "2026/11/01 12:00:00.300, 0, [N/A], 98 %\n");
  ASSERT_TRUE(clocks) << to_text(clocks.error());
  EXPECT_TRUE(clocks->numbered);
  ASSERT_EQ(clocks->gpus.size(), 2U);
  ASSERT_EQ(clocks->gpus.at(0).size(), 1U) << "idle and unknown samples are left out";
  EXPECT_EQ(clocks->gpus.at(0)[0].mhz, 1410);
  RankTrace trace;
  trace.clocks = clocks->gpus.at(1);
  EXPECT_EQ(trace.clock_mhz(5, 10), 1980) << "its time is not the trace's";
}

/// Without numbers nobody could tell two GPUs apart.
TEST(ClockTable, WithoutNumbersItIsOfOneGpu) {
  const auto one = read("uuid, clocks.sm [MHz]\nGPU-a, 1410 MHz\nGPU-a, 1400 MHz\n");
  ASSERT_TRUE(one) << to_text(one.error());
  EXPECT_FALSE(one->numbered);
  EXPECT_EQ(one->gpus.at(0).size(), 2U);
  EXPECT_THAT(error_of("uuid, clocks.sm [MHz]\nGPU-a, 1410 MHz\nGPU-b, 1980 MHz\n"),
      testing::HasSubstr("has samples of 2 GPUs, and no column index"));
  EXPECT_THAT(error_of("power.draw [W], clocks.sm [MHz]\n300 W, 1410 MHz\n700 W, 1980 MHz\n"),
      testing::HasSubstr("has no column index"));
  EXPECT_THAT(error_of("index, clocks.sm [MHz]\n[N/A], 1410 MHz\n"), testing::HasSubstr("no sample of a GPU"));
}

/// 65 MiB, of which 64 are read as one text.
TEST(ClockTable, IsReadWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "stepcast_long_clock_table.csv";
  std::ofstream(path) << "index, clocks.sm\n0, 1410\n";
  std::filesystem::resize_file(path, std::uintmax_t{65} << 20);
  const auto clocks = read_clock_table(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(clocks);
  EXPECT_THAT(to_text(clocks.error()), testing::HasSubstr("more than 64 MiB"));
}

TEST(ClockTable, WrongOnes) {
  EXPECT_THAT(error_of("index, power.draw [W]\n0, 300 W\n"), testing::HasSubstr("no column of clocks"));
  EXPECT_THAT(error_of("index, clocks.sm [MHz]\n0, fast\n"), testing::HasSubstr(":2"));
  EXPECT_THAT(
      error_of("index, clocks.sm, utilization.gpu\n0, 345, 0\n"), testing::HasSubstr("no sample of a GPU at work"));
}

}  // namespace
}  // namespace stepcast::calibrate::clock_table_test
