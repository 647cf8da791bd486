#include "model/base/percentile.h"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Percentile, lies_between_order_statistics) {
  EXPECT_DOUBLE_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 0.1), 1);
  EXPECT_DOUBLE_EQ(percentile({7}, 0.9), 7);
}

}  // namespace
}  // namespace stepcast
