// A user's own log of failures: what it says, and which line is wrong.
#include "studies/job/failure_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::job {
namespace {

using testing::HasSubstr;

constexpr std::int64_t march_2026 = 1'772'323'200;  // 2026-03-01T00:00:00Z

Expected<std::vector<LoggedFailure>> read_lines(const std::string& lines) {
  constexpr std::int64_t week = 7 * 86400;
  return read_failure_log("failed_at,back_at\n" + lines, "log.csv", march_2026 + week);
}
std::string log_refusal(const std::string& lines) {
  const auto log = read_lines(lines);
  return log ? std::string() : to_text(log.error());
}

TEST(FailureLog, TimesAreUtc) {
  const auto log = read_lines("2026-03-01T00:10,2026-03-01 00:30:05Z\n\n2026-03-02T12:00:00,2026-03-02T12:00:00\n");
  ASSERT_TRUE(log) << to_text(log.error());
  ASSERT_EQ(log->size(), 2U);
  EXPECT_EQ(log->at(0).failed_at, march_2026 + 600);
  EXPECT_EQ(log->at(0).back_at, march_2026 + 1805);
  EXPECT_EQ(log->at(1).failed_at, march_2026 + 129'600);
}

TEST(FailureLog, AByteOrderMarkIsNoPartOfTheHeader) {
  const auto log = read_failure_log("\xEF\xBB\xBF"
                                    "failed_at,back_at\n2026-03-01T00:10,2026-03-01T00:20\n",
      "log.csv", march_2026 + 86'400);
  ASSERT_TRUE(log) << to_text(log.error());
  EXPECT_EQ(log->at(0).failed_at, march_2026 + 600);
}

TEST(FailureLog, RatesAndTimeDown) {
  const auto log = read_lines(
      "2026-03-01T00:00,2026-03-01T00:10\n2026-03-02T00:00,2026-03-02T00:20\n2026-03-03T00:00,2026-03-03T00:30\n");
  const auto rates = rates_of(*log, Seconds(6 * 86400.0), "--log-days");
  ASSERT_TRUE(rates) << to_text(rates.error());
  EXPECT_EQ(rates->per_day.value, 0.5);
  EXPECT_EQ(rates->mean_down, Seconds(1200));
  // Of a Poisson count of 3 the 80 % interval is from 1.10 to 6.68 (gamma percentiles of 3 and 4).
  EXPECT_NEAR(rates->per_day.low * 6, 1.10, 0.03);
  EXPECT_NEAR(rates->per_day.high * 6, 6.68, 0.03);
  EXPECT_THAT(to_text(rates_of(*log, Seconds(86400), "--log-days").error()), HasSubstr("days apart"));
}

TEST(FailureLog, WrongLinesAreNamed) {
  const std::string first = "2026-03-01T01:00,2026-03-01T02:00\n";
  EXPECT_THAT(log_refusal(first + "2026-03-01T01:30,2026-03-01T03:00\n"),
      HasSubstr("log.csv:3: fails while the failure of line 2"));
  EXPECT_THAT(log_refusal(first + "2026-02-28T01:30,2026-02-28T03:00\n"),
      HasSubstr("log.csv:3: fails before the entry of line 2"));
  EXPECT_THAT(
      log_refusal("2026-03-01T03:00,2026-03-01T02:00\n"), HasSubstr("log.csv:2: back at 2026-03-01T02:00 before"));
  EXPECT_THAT(log_refusal(first + "\n2027-03-01T03:00,2027-03-01T04:00\n"),
      HasSubstr("log.csv:4: 2027-03-01T03:00 lies in the future"));
  EXPECT_THAT(log_refusal("yesterday,today\n"), HasSubstr("'yesterday' is no time"));
  EXPECT_THAT(log_refusal("2026-02-30T03:00,2026-03-01T02:00\n"), HasSubstr("is no time"));
  EXPECT_THAT(log_refusal("2026-02-20T03:00\n"), HasSubstr("no two cells"));
  EXPECT_THAT(log_refusal(""), HasSubstr("no failure"));
  EXPECT_THAT(to_text(read_failure_log("a,b\n", "log.csv", 0).error()), HasSubstr("log.csv:1: the header is 'a,b'"));
}

}  // namespace
}  // namespace stepcast::job
