// Values of flags with their types: read, absent, refused.
#include "studies/cli/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::cli {
namespace {

using testing::HasSubstr;

Arguments flags_said() {
  Arguments arguments;
  arguments.flags = {{"--time", "600ms"}, {"--rate", "2.5"}, {"--count", "12"}, {"--odd", "much"}};
  return arguments;
}

TEST(FlagValues, AreReadWhereTheyWereGiven) {
  const Arguments arguments = flags_said();
  std::optional<Seconds> time, other_time;
  ASSERT_TRUE(read_flag(arguments, "--time", time));
  EXPECT_DOUBLE_EQ(time->value(), 0.6);
  ASSERT_TRUE(read_flag(arguments, "--other", other_time));
  EXPECT_FALSE(other_time);
  std::optional<double> rate, other_rate;
  ASSERT_TRUE(read_number(arguments, "--rate", rate, {0, 10}));
  EXPECT_EQ(rate, 2.5);
  ASSERT_TRUE(read_number(arguments, "--other", other_rate, {0, 10}));
  EXPECT_FALSE(other_rate);
  EXPECT_EQ(count_of(arguments, "--count"), 12);
  EXPECT_FALSE(count_of(arguments, "--other"));
  EXPECT_EQ(count_of(arguments, "--count", 3), 12);
  EXPECT_EQ(count_of(arguments, "--other", 3), 3);
}

TEST(FlagValues, WrongOnesAreRefused) {
  const Arguments arguments = flags_said();
  std::optional<Seconds> time;
  EXPECT_FALSE(read_flag(arguments, "--odd", time));
  std::optional<double> rate;
  const auto large = read_number(arguments, "--rate", rate, {0, 2});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().where, "--rate");
  EXPECT_THAT(large.error().what, HasSubstr("'2.5' is no such number"));
  EXPECT_EQ(large.error().hint, "from 0 to 2");
  EXPECT_FALSE(read_number(arguments, "--odd", rate, {0, 2}));
}

}  // namespace
}  // namespace stepcast::cli
