#include "studies/launch/facts/number_in.h"

#include <gtest/gtest.h>

namespace stepcast::launch {
namespace {

TEST(NumberIn, IsAllOfTheText) {
  EXPECT_EQ(number_in("8"), 8);
  EXPECT_EQ(number_in("0.5"), 0.5);
  EXPECT_EQ(number_in("-1"), -1);
  EXPECT_EQ(number_in("1_408"), 1408);
  EXPECT_EQ(number_in("32_000_000"), 32e6);
  EXPECT_EQ(number_in("[8]"), 8);
  for (const char* none : {"", "8x", "x8", "_8", "8_", "8__0", "true", "inf", "nan", "1e999"})
    EXPECT_FALSE(number_in(none)) << none;
}

}  // namespace
}  // namespace stepcast::launch
