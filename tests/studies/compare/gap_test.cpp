#include "studies/compare/gap.h"

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::gap_test {
namespace {

using hand_trace::trace_of;

const GapRow& row_of(const Gap& gap, const std::string& name) {
  for (const GapRow& row : gap.rows)
    if (row.name == name) return row;
  ADD_FAILURE() << name;
  return gap.rows.front();
}

TEST(TraceGap, RowsSumToTheDifference) {
  const TimeSplit expected = split_time(trace_of({{"a_gemm", 0, 10}, {"b_softmax", 10, 20}}), 0, 20);
  const TimeSplit measured =
      split_time(trace_of({{"a_gemm", 0, 15}, {"c_softmax", 15, 21}, {"ncclDevKernel_AllReduce", 18, 30}}), 0, 34);
  const Gap gap = gap_between(expected, measured, {{{"a_gemm", {0.9, 1.2}}}, {}});
  double sum = 0;
  for (const GapRow& row : gap.rows) sum += row.difference();
  EXPECT_NEAR(sum, 14e-6, 1e-12);
  const GapRow& products = row_of(gap, "matrix products");
  EXPECT_NEAR(products.difference(), 5e-6, 1e-12);
  EXPECT_NEAR(products.low, 9e-6, 1e-12);
  EXPECT_NEAR(products.high, 12e-6, 1e-12);
  EXPECT_FALSE(products.inside());
  EXPECT_NEAR(products.pace(), 1.5, 1e-9);
  EXPECT_NEAR(row_of(gap, "memory-bound kernels").difference(), -4e-6, 1e-12);
  EXPECT_NEAR(row_of(gap, "all_reduce").difference(), 9e-6, 1e-12);
  EXPECT_NEAR(row_of(gap, "idle").difference(), 4e-6, 1e-12);
  EXPECT_TRUE(gap.same_names);  // one of the two expected names
}

// Two products of other names, short and long: the order tells them apart. A third one does not.
TEST(TraceGap, ProductsAreToldApartByTheirOrder) {
  const TimeSplit expected = split_time(trace_of({{"short_gemm", 0, 10}, {"long_gemm", 10, 50}}), 0, 50);
  const ExpectedPrices spreads = {{{"short_gemm", {0.9, 1.1}}}, {}};
  const Gap gap = gap_between(expected, split_time(trace_of({{"x_gemm", 0, 12}, {"y_gemm", 12, 57}}), 0, 57), spreads);
  const GapRow& products = row_of(gap, "matrix products");
  ASSERT_EQ(products.parts.size(), 2U);
  EXPECT_EQ(products.parts[0].name, "long_gemm");
  EXPECT_NEAR(products.parts[0].difference(), 5e-6, 1e-12);
  EXPECT_NEAR(products.parts[1].difference(), 2e-6, 1e-12);
  const TimeSplit three = split_time(trace_of({{"x_gemm", 0, 12}, {"y_gemm", 12, 57}, {"x_gemm", 57, 69}}), 0, 69);
  EXPECT_TRUE(row_of(gap_between(expected, three, spreads), "matrix products").parts.empty());
}

}  // namespace
}  // namespace stepcast::comparison::gap_test
